// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/units.h"
#include "plan/need.h"

namespace gpuprobe::inline plan {

/// The layers from `first` to before `last` that one device computes, possibly with the output.
struct Part {
    std::size_t first = 0;
    std::size_t last = 0;
    bool has_output = false;
    bool is_host = false;  ///< computed by the CPU, which also looks up the embedding
    /// number of copies of each input, if several devices form a pipeline
    std::uint64_t copies = 1;
    bool operator==(const Part&) const = default;
};
/// A part with all layers and the output.
Part whole(const Model& model);

/// Size of the compute buffer of a device for its part of the model: the memory for the graph of a
/// full batch with logits for each token. llama.cpp reserves it when a context is created.
///
/// Source of the graphs: src/llama-graph.cpp and src/models of llama.cpp v0.5.0, compared with the
/// graphs that the runtime prints (GGML_SCHED_DEBUG=2). For an architecture that is not known by
/// name, the tensors of the layers determine the computation.
Bytes compute_of(const Model& model, const RunShape& run, const Part& part);

}  // namespace gpuprobe::inline plan
