// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "base/units.h"

/// Sums and products of sizes that come from a file. The functions saturate instead of wrapping, so
/// the result of an overflow is the largest number, which exceeds any memory.
namespace gpuprobe::inline plan {

constexpr std::uint64_t kTooMany = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t kFloatBytes = 4;

constexpr std::uint64_t product(std::uint64_t left, std::uint64_t right) {
    return right != 0 && left > kTooMany / right ? kTooMany : left * right;
}
template <std::convertible_to<std::uint64_t>... More>
constexpr std::uint64_t product(std::uint64_t left, std::uint64_t right, More... more) {
    return product(product(left, right), static_cast<std::uint64_t>(more)...);
}

constexpr std::uint64_t sum(std::uint64_t left, std::uint64_t right) {
    return left > kTooMany - right ? kTooMany : left + right;
}
constexpr Bytes sum(Bytes left, Bytes right) {
    return Bytes{sum(left.count, right.count)};
}

/// The difference of two sizes; zero if `right` is larger.
constexpr Bytes difference(Bytes left, Bytes right) {
    return Bytes{left < right ? 0 : left.count - right.count};
}

}  // namespace gpuprobe::inline plan
