// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace gpuprobe::inline plan {

/// The tensors of a computation in the order of their computation, and the memory that ggml's graph
/// allocator needs for them.
///
/// The allocator's rules: Inputs come first. A result goes into the smallest free block that is
/// large enough, otherwise to the end. It replaces a source if the operation can work in place, if
/// nothing else reads the source, and if the sizes are equal. A tensor is freed after its last
/// reader. Source: ggml/src/ggml-alloc.c of llama.cpp at 0450e2f9 (ggml_gallocr_alloc_graph_impl,
/// ggml_dyn_tallocr_alloc, ggml_op_can_inplace).
class GraphMemory {
public:
    using Tensor = std::size_t;

    /// Adds a tensor that exists before the first operation.
    Tensor input(std::uint64_t bytes);
    /// Adds a result that may replace its first source of the same size.
    Tensor in_place(std::uint64_t bytes, const std::vector<Tensor>& sources);
    /// Adds a result that needs its own memory.
    Tensor result(std::uint64_t bytes, const std::vector<Tensor>& sources);
    /// Adds readers without a result, such as a write to the cache.
    void read(const std::vector<Tensor>& sources);

    /// The largest extent at any time. All sizes are rounded up to a multiple of `alignment`.
    [[nodiscard]] Bytes peak(std::uint64_t alignment) const;

private:
    struct Step {
        std::uint64_t bytes = 0;
        bool may_reuse = false;
        bool has_result = true;
        std::size_t first_source = 0;  ///< index into sources_
        std::size_t sources = 0;
    };
    Tensor step(Step step, const std::vector<Tensor>& sources);

    std::vector<Step> steps_ = {};
    std::vector<Tensor> sources_ = {};
    std::vector<std::uint32_t> readers_ = {};  ///< number of readers, by tensor
    std::vector<Tensor> inputs_ = {};
};

}  // namespace gpuprobe::inline plan
