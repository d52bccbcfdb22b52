// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "plan/need.h"

namespace gpuprobe::inline plan {

/// Layers that one device computes: from `first` up to, without, `last`; and the output.
struct Part {
    std::size_t first = 0;
    std::size_t last = 0;
    bool has_output = false;
    bool is_host = false;      ///< the CPU's: it looks up the embedding itself
    std::uint64_t copies = 1;  ///< of each input, where several devices work like a pipeline
    bool operator==(const Part&) const = default;
};
Part whole(const Model& model);

/// The buffer in which a device computes its part: the memory of the graph of one full batch with
/// logits for each token of it, which llama.cpp reserves when a context is made.
///
/// Source of the graphs: src/llama-graph.cpp and src/models of llama.cpp v0.5.0, read as the
/// runtime prints them (GGML_SCHED_DEBUG=2). An architecture that is not known by name is computed
/// as the tensors of its layers say.
Bytes compute_of(const Model& model, const RunShape& run, const Part& part);

}  // namespace gpuprobe::inline plan
