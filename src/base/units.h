// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
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

/// Parses a size in the notation of data files, such as "8GiB", "8192 MiB", "8GB", "8000000000".
/// nullopt for any other string, for sizes of 2^64 and more, and for "8G", which could mean GB or
/// GiB.
std::optional<Bytes> size_from_text(std::string_view text);

/// Parses a size that a person typed. Accepts everything that size_from_text() accepts, in upper or
/// lower case, and also single letters ("8 G" means GiB) and fractions with a unit ("1.5 GiB").
/// nullopt for any other string and for sizes of 2^64 and more.
std::optional<Bytes> parse_size(std::string_view text);

/// An instant, counted from the Unix epoch. Reports contain instants as integer microseconds.
using WallTime = std::chrono::sys_time<std::chrono::microseconds>;
using Duration = std::chrono::microseconds;
/// Monotonic time since an unspecified start.
using MonotonicTime = Duration;

/// A source of time. Tests replace the clock with a clock that they advance themselves.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual WallTime wall() const = 0;
    [[nodiscard]] virtual MonotonicTime monotonic() const = 0;
};

class SystemClock final : public Clock {
public:
    [[nodiscard]] WallTime wall() const override;
    [[nodiscard]] MonotonicTime monotonic() const override;
};

}  // namespace gpuprobe::inline base
