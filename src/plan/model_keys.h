// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/gguf.h"

namespace gpuprobe::inline plan {

/// More than any of these is an error of the file: heads, lengths and widths of a layer.
constexpr std::uint64_t kMaxWidth = 1U << 24U;

/// The values of one architecture: "llama.block_count" by "block_count". What is there and is not
/// what was asked for is remembered, so that nobody takes it for missing.
class Keys {
public:
    Keys(const Gguf& gguf, std::string architecture)
        : gguf_{gguf}, prefix_{std::move(architecture) + "."} {}

    [[nodiscard]] std::string_view architecture() const {
        return std::string_view{prefix_}.substr(0, prefix_.size() - 1);
    }
    [[nodiscard]] std::string name_of(std::string_view key) const {
        return prefix_ + std::string{key};
    }
    [[nodiscard]] bool has(std::string_view key) const;
    /// A whole number from 0.
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
    [[nodiscard]] std::uint64_t width(std::string_view key, std::uint64_t otherwise = 0) const;
    [[nodiscard]] const std::vector<std::int64_t>* list(std::string_view key) const {
        return gguf_.list(name_of(key));
    }
    /// A number for each layer: of a list, or the same for all.
    [[nodiscard]] std::uint64_t of_layer(std::string_view key,
                                         std::size_t layer,
                                         std::uint64_t otherwise) const;

    /// Errors: Malformed, with the first key that was read and is not what it should be.
    [[nodiscard]] Status check() const;

private:
    void complain(std::string_view key, std::string_view problem) const;

    const Gguf& gguf_;
    std::string prefix_;
    mutable std::string problem_ = {};
};

}  // namespace gpuprobe::inline plan
