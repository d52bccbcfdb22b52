// SPDX-License-Identifier: Apache-2.0
#include "plan/architecture.h"

#include <algorithm>
#include <array>

namespace gpuprobe::inline plan {
namespace {

/// Source: src/models and src/llama-context.cpp (Grok) of llama.cpp v0.5.0.
constexpr auto kArchitectures = std::to_array<Architecture>({
    {.name = "falcon-h1", .has_state_everywhere = true},
    {.name = "grok", .has_flash_attention = false},
    {.name = "jamba", .has_positions = false},
    {.name = "llama4", .weighs_input = true},
    {.name = "minimax-01", .has_lightning_attention = true, .attention_interval = 8},
    {.name = "minimax-m3", .has_index_values = true},
    {.name = "nemotron_h", .has_lone_networks = true},
    {.name = "nemotron_h_moe", .has_lone_networks = true},
});
constexpr Architecture kMostArchitectures{};

}  // namespace

const Architecture& architecture_named(std::string_view name) {
    const auto* found = std::ranges::find(kArchitectures, name, &Architecture::name);
    return found == kArchitectures.end() ? kMostArchitectures : *found;
}

}  // namespace gpuprobe::inline plan
