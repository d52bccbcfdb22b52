// SPDX-License-Identifier: Apache-2.0
#include "plan/architecture.h"

#include <algorithm>
#include <array>

namespace gpuprobe::inline plan {
namespace {

/// A model that computes embeddings of texts.
constexpr Architecture encoder(std::string_view name) {
    return {.name = name, .has_cache = false, .is_encoder = true, .ties_output = false};
}
constexpr Architecture encoder_without_positions(std::string_view name) {
    auto row = encoder(name);
    row.has_positions = false;
    return row;
}
/// A diffusion model, which writes all tokens of a text at once.
constexpr Architecture diffusion(std::string_view name) {
    return {.name = name, .has_cache = false};
}

/// Sources: src/models, llama_model::create_memory (src/llama-model.cpp) and src/llama-context.cpp
/// (for Grok) of llama.cpp v0.5.0.
constexpr auto kArchitectures = std::to_array<Architecture>({
    encoder_without_positions("bert"),
    {.name = "cohere2", .projects_late = true},
    {.name = "cohere2moe",
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true,
     .holds_mask = true,
     .projects_late = true},
    {.name = "command-r", .projects_late = true},
    {.name = "deepseek4", .rows_taken = RowsTaken::BehindLayers},
    diffusion("dream"),
    encoder("eurobert"),
    {.name = "falcon-h1", .has_state_everywhere = true},
    {.name = "gemma4", .rows_taken = RowsTaken::BehindNorm, .keeps_last = true, .holds_mask = true},
    {.name = "gemma-embedding", .has_cache = false, .is_encoder = true},
    {.name = "gpt-oss", .rows_taken = RowsTaken::BehindLayers},
    {.name = "grok", .has_flash_attention = false},
    {.name = "jamba", .has_positions = false},
    encoder_without_positions("jina-bert-v2"),
    encoder("jina-bert-v3"),
    diffusion("llada"),
    diffusion("llada-moe"),
    {.name = "llama4", .weighs_input = true},
    {.name = "minimax-01", .has_lightning_attention = true, .attention_interval = 8},
    {.name = "minimax-m3", .has_index_values = true},
    encoder("modern-bert"),
    {.name = "nemotron_h",
     .has_lone_networks = true,
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true},
    {.name = "nemotron_h_moe",
     .has_lone_networks = true,
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true},
    encoder("neo-bert"),
    encoder("nomic-bert"),
    encoder("nomic-bert-moe"),
    {.name = "qwen35", .rows_taken = RowsTaken::BehindNorm, .keeps_last = true, .holds_mask = true},
    {.name = "qwen35moe",
     .rows_taken = RowsTaken::BehindNorm,
     .keeps_last = true,
     .holds_mask = true},
    {.name = "qwen3next", .rows_taken = RowsTaken::BehindNorm, .keeps_last = true},
    diffusion("rnd1"),
    {.name = "step35",
     .rows_taken = RowsTaken::BehindLayers,
     .keeps_last = true,
     .holds_mask = true},
    {.name = "t5", .has_positions = false, .has_position_bias = true},
    {.name = "t5encoder", .is_encoder = true, .has_positions = false, .has_position_bias = true},
    encoder("wavtokenizer-dec"),
});
/// The default: a decoder with a cache and rotary positions.
constexpr Architecture kMostArchitectures{};

}  // namespace

const Architecture& architecture_named(std::string_view name) {
    const auto* found = std::ranges::find(kArchitectures, name, &Architecture::name);
    return found == kArchitectures.end() ? kMostArchitectures : *found;
}

}  // namespace gpuprobe::inline plan
