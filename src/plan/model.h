// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/record.h"
#include "base/result.h"
#include "plan/gguf.h"
#include "report/outcome.h"

namespace gpuprobe {

constexpr std::uint64_t kMaxLayers = kMaxGgufListItems;

/// What one layer keeps per token of context, and what of fixed size.
struct LayerShape {
    Bytes weights = {};
    std::uint64_t key_heads = 0;     ///< 0: no cache
    std::uint64_t key_length = 0;    ///< numbers per head
    std::uint64_t value_length = 0;  ///< 0 where values are a view of the keys (MLA)
    bool is_windowed = false;
    Bytes state = {};  ///< of a recurrent layer, per stream, whatever the context
    bool operator==(const LayerShape&) const = default;
};

/// A model as far as its memory goes.
struct Model {
    std::optional<std::string> name = {};
    std::string architecture = {};
    std::vector<LayerShape> layers = {};
    Bytes embedding = {};  ///< weights that stay with the CPU
    Bytes output = {};     ///< weights behind the last layer, a copy of the embedding too
    std::uint64_t embedding_length = 0;  ///< numbers per token
    std::optional<std::uint64_t> vocabulary = {};
    std::optional<std::uint64_t> trained_context = {};
    std::uint64_t window = 0;  ///< tokens that a windowed layer sees
    std::vector<Reason> notes = {};
};

/// The model that a header describes.
///
/// Errors: InvalidRequest for a file that holds no language model (a projector, an adapter, a
/// vocabulary); Malformed when its values contradict each other or are out of range.
/// Sources: src/llama-arch.cpp (keys), src/llama-hparams.cpp and src/models (what they mean) of
/// llama.cpp, as of August 2026.
Result<Model> model_of(const Gguf& gguf);

}  // namespace gpuprobe
