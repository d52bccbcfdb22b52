// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gpuprobe::inline base {

/// A size in bytes.
struct Bytes {
    std::uint64_t count = 0;
    auto operator<=>(const Bytes&) const = default;
};

constexpr Bytes kib(std::uint64_t n) {
    return Bytes{n << 10};
}
constexpr Bytes mib(std::uint64_t n) {
    return Bytes{n << 20};
}
constexpr Bytes gib(std::uint64_t n) {
    return Bytes{n << 30};
}

/// A size as documents have it: "8GiB", "8192 MiB", "8GB", "8000000000". nullopt for anything else
/// and past 2^64: "8G" could be either.
std::optional<Bytes> size_from_text(std::string_view text);

/// A size as people type it: as in documents, and case does not matter, "8 G" is binary, and a
/// fraction is allowed with a unit. nullopt for anything else and past 2^64.
std::optional<Bytes> parse_size(std::string_view text);

}  // namespace gpuprobe::inline base
