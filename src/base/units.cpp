// SPDX-License-Identifier: Apache-2.0
#include "base/units.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"

namespace gpuprobe::inline base {
namespace {

struct Unit {
    std::string_view name = {};
    std::uint64_t bytes = 1;
};
constexpr std::array<Unit, 10> kUnits{{{"", 1},
                                       {"B", 1},
                                       {"kB", 1000},
                                       {"MB", 1000'000},
                                       {"GB", 1000'000'000},
                                       {"TB", 1000'000'000'000},
                                       {"KiB", kib(1).count},
                                       {"MiB", mib(1).count},
                                       {"GiB", gib(1).count},
                                       {"TiB", gib(1024).count}}};
/// The maximum number of digits after the decimal point.
constexpr std::size_t kMaxFractionDigits = 9;
constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();

/// Bytes per unit, for a unit spelled exactly as in kUnits; 0 for an unknown unit.
std::uint64_t exact_unit(std::string_view name) {
    const auto* unit = std::ranges::find(kUnits, name, &Unit::name);
    return unit == kUnits.end() ? 0 : unit->bytes;
}

/// Bytes per unit, for a unit in upper or lower case. A single letter other than "B" means the
/// binary unit, so "G" is GiB.
std::uint64_t typed_unit(std::string_view name) {
    auto wanted = lower_case(name);
    if (wanted.size() == 1 && wanted != "b")
        wanted += "ib";
    for (const auto& unit : kUnits)
        if (lower_case(unit.name) == wanted)
            return unit.bytes;
    return 0;
}

/// The number in `digits` times the unit; nullopt if the number is malformed, if the result
/// overflows, or if the unit is unknown.
std::optional<Bytes> whole_size(std::string_view digits, std::uint64_t unit) {
    const auto number = parse_number<std::uint64_t>(digits);
    if (!number || unit == 0 || *number > kMost / unit)
        return std::nullopt;
    return Bytes{*number * unit};
}

/// Converts the digits after the decimal point to bytes: a fraction of the unit, rounded down. The
/// largest product, 10^9 · 10^12, fits in 64 bits.
std::optional<Bytes> fraction_size(std::string_view digits, std::uint64_t unit) {
    const auto number = parse_number<std::uint64_t>(digits);
    if (!number || digits.size() > kMaxFractionDigits || unit == 1)
        return std::nullopt;
    long double share = static_cast<long double>(*number);
    for (std::size_t i = 0; i < digits.size(); ++i)
        share /= 10;
    return Bytes{static_cast<std::uint64_t>(share * static_cast<long double>(unit))};
}

}  // namespace

// A number without a unit is in bytes.
std::optional<Bytes> size_from_text(std::string_view text) {
    text = trimmed(text);
    const auto digits = std::min(text.find_first_not_of("0123456789"), text.size());
    return whole_size(text.substr(0, digits), exact_unit(trimmed(text.substr(digits))));
}

std::optional<Bytes> parse_size(std::string_view text) {
    text = trimmed(text);
    const auto end = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = text.substr(0, end);
    const auto unit = typed_unit(trimmed(text.substr(end)));
    // The part before the decimal point and the part after it are converted separately, so that
    // large sizes keep all their digits.
    const auto point = std::min(number.find('.'), number.size());
    const auto whole = whole_size(number.substr(0, point), unit);
    if (!whole || point == number.size())
        return whole;
    const auto fraction = fraction_size(number.substr(point + 1), unit);
    if (!fraction || whole->count > kMost - fraction->count)
        return std::nullopt;
    return Bytes{whole->count + fraction->count};
}

// The wall clock may jump; use monotonic() to measure durations.
WallTime SystemClock::wall() const {
    return std::chrono::time_point_cast<std::chrono::microseconds>(
        std::chrono::system_clock::now());
}

MonotonicTime SystemClock::monotonic() const {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<MonotonicTime>(now);
}

}  // namespace gpuprobe::inline base
