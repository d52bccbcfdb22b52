// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>

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

}  // namespace gpuprobe::inline base
