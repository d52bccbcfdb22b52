// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "plan/gguf.h"

namespace gpuprobe::inline plan {

/// Limit for heads, lengths and widths of a layer. A larger number means that the file is faulty.
constexpr std::uint64_t kMaxWidth = 1U << 24U;

/// Reads the values of one architecture by short keys: "block_count" for "llama.block_count". If a
/// value exists but has the wrong type, the problem is remembered for check(), so that the value is
/// not mistaken for a missing one.
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
    /// A non-negative integer; nullopt if it is missing.
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
    /// The same, limited to kMaxWidth, with a default.
    [[nodiscard]] std::uint64_t width(std::string_view key, std::uint64_t otherwise = 0) const;
    [[nodiscard]] const std::vector<std::int64_t>* list(std::string_view key) const {
        return gguf_.list(name_of(key));
    }
    /// A layer's number: from a list with one item per layer, or a single number for all layers.
    [[nodiscard]] std::uint64_t of_layer(std::string_view key,
                                         std::size_t layer,
                                         std::uint64_t otherwise) const;

    /// Reports the first value that had the wrong type. Errors: Malformed.
    [[nodiscard]] Status check() const;

private:
    void complain(std::string_view key, std::string_view problem) const;

    const Gguf& gguf_;
    std::string prefix_;
    mutable std::string problem_ = {};
};

}  // namespace gpuprobe::inline plan
