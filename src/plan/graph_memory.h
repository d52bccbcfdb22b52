// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace gpuprobe::inline plan {

/// The tensors of one computation in the order in which they are computed, and the memory that
/// ggml's graph allocator takes for them.
///
/// Its rules: the inputs come first; a result goes into the smallest free block that holds it, at
/// the end where none does; it takes the place of a source that nobody else reads where the
/// operation can work in place and the sizes agree; a tensor is freed after its last reader.
/// Source: ggml/src/ggml-alloc.c of llama.cpp at 0450e2f9 (ggml_gallocr_alloc_graph_impl,
/// ggml_dyn_tallocr_alloc, ggml_op_can_inplace).
class GraphMemory {
public:
    using Tensor = std::size_t;

    /// Something that is there before the first operation.
    Tensor input(std::uint64_t bytes);
    /// A result that may take the place of its first source of the same size.
    Tensor in_place(std::uint64_t bytes, const std::vector<Tensor>& sources);
    /// A result that may not.
    Tensor result(std::uint64_t bytes, const std::vector<Tensor>& sources);
    /// Reads without a result of its own: what is written to the cache.
    void read(const std::vector<Tensor>& sources);

    /// The largest extent at any time. Sizes are rounded up to `alignment`.
    [[nodiscard]] Bytes peak(std::uint64_t alignment) const;

private:
    struct Step {
        std::uint64_t bytes = 0;
        bool may_reuse = false;
        bool has_result = true;
        std::size_t first_source = 0;  ///< in sources_
        std::size_t sources = 0;
    };
    Tensor step(Step step, const std::vector<Tensor>& sources);

    std::vector<Step> steps_ = {};
    std::vector<Tensor> sources_ = {};
    std::vector<std::uint32_t> readers_ = {};  ///< by tensor
    std::vector<Tensor> inputs_ = {};
};

}  // namespace gpuprobe::inline plan
