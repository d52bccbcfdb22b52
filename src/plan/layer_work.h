// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "plan/gguf.h"
#include "plan/model.h"

namespace gpuprobe::inline plan {

/// More than any of these is an error of the file: heads, lengths and widths of a layer.
constexpr std::uint64_t kMaxWidth = 1U << 24U;

/// The values of one architecture: "llama.block_count" by "block_count".
class Keys {
public:
    Keys(const Gguf& gguf, std::string architecture)
        : gguf_{gguf}, prefix_{std::move(architecture) + "."} {}

    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const {
        return gguf_.number(prefix_ + std::string{key});
    }
    [[nodiscard]] std::uint64_t width(std::string_view key, std::uint64_t otherwise = 0) const {
        return std::min(number(key).value_or(otherwise), kMaxWidth);
    }
    /// A number for each layer: of a list, or the same for all.
    [[nodiscard]] std::uint64_t of_layer(std::string_view key,
                                         std::size_t layer,
                                         std::uint64_t otherwise) const {
        const auto* list = gguf_.list(prefix_ + std::string{key});
        if (!list)
            return width(key, otherwise);
        if (layer >= list->size() || (*list)[layer] < 0)
            return 0;
        return std::min(static_cast<std::uint64_t>((*list)[layer]), kMaxWidth);
    }

private:
    const Gguf& gguf_;
    std::string prefix_;
};

/// The number behind "blk." in a tensor's name.
std::optional<std::size_t> layer_of(std::string_view tensor);

/// Fills in what each layer computes: from its tensors, and from the keys where the file lists
/// none. Sources: src/llama-arch.cpp and src/models of llama.cpp v0.5.0.
void describe_work(const Gguf& gguf, const Keys& keys, Model& model);

}  // namespace gpuprobe::inline plan
