// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/record.h"
#include "plan/ggml_type.h"
#include "plan/model.h"

/// What a model takes, part by part. All of it is an estimate; the runtime that loads the model
/// knows.
namespace gpuprobe {

constexpr std::uint64_t kMaxContext = 1ULL << 32U;
constexpr std::uint64_t kMaxBatch = 1U << 20U;
constexpr std::uint64_t kMaxStreams = 4096;

/// How the model is to be run.
struct RunShape {
    std::uint64_t context = 4096;  ///< tokens of one stream
    std::uint64_t batch = 512;     ///< tokens computed at once: llama.cpp's micro-batch
    std::uint64_t streams = 1;     ///< sequences, each with its own context
    GgmlType keys = *ggml_type(1);
    GgmlType values = *ggml_type(1);
};

/// CUDA and HIP contexts with their kernels, per device that is used. Ollama reserves 457 MiB with
/// its own buffers (ml/device.go); what remains without them is about this.
constexpr Bytes kContextOverhead = mib(300);

/// The cache of one layer: heads · (keys + values) · tokens · streams. A windowed layer keeps its
/// window and one batch, at most the context. A recurrent layer's state does not grow.
/// Source: llama_kv_cache and llama_memory_recurrent of llama.cpp.
Bytes cache_of(const LayerShape& layer, std::uint64_t window, const RunShape& run);

/// Of all layers.
Bytes cache_of(const Model& model, const RunShape& run);

/// Buffers of the computation: the logits of a batch, or where the vocabulary is small the
/// activations. That eight rows of the embedding's width are alive at once is chosen, not measured.
Bytes compute_of(const Model& model, const RunShape& run);

/// What goes to GPUs when everything does, without overhead of their drivers.
struct Need {
    Bytes layers = {};     ///< weights
    Bytes output = {};     ///< weights
    Bytes cache = {};      ///< of attention and recurrent state
    Bytes compute = {};    ///< on each GPU that is used
    Bytes embedding = {};  ///< weights that stay in the host's memory
    bool operator==(const Need&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Need& need) {
    visit("layers", need.layers);
    visit("output", need.output);
    visit("cache", need.cache);
    visit("compute", need.compute);
    visit("embedding", need.embedding);
}
Need need_of(const Model& model, const RunShape& run);

}  // namespace gpuprobe
