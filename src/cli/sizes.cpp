// SPDX-License-Identifier: Apache-2.0
#include "cli/sizes.h"

#include <array>
#include <limits>

#include <fmt/format.h>

#include "base/parse.h"

namespace gpuprobe {
namespace {

struct Unit {
    std::string_view name;
    std::uint64_t bytes;
};
constexpr std::array<Unit, 14> kUnits = {{{"", 1},
                                          {"b", 1},
                                          {"k", kib(1).count},
                                          {"kib", kib(1).count},
                                          {"kb", 1'000},
                                          {"m", mib(1).count},
                                          {"mib", mib(1).count},
                                          {"mb", 1'000'000},
                                          {"g", gib(1).count},
                                          {"gib", gib(1).count},
                                          {"gb", 1'000'000'000},
                                          {"t", gib(1024).count},
                                          {"tib", gib(1024).count},
                                          {"tb", 1'000'000'000'000}}};
constexpr std::size_t kMaxFractionDigits = 9;

std::optional<std::uint64_t> unit_bytes(std::string_view name) {
    for (const auto& unit : kUnits)
        if (unit.name == lower_case(name))
            return unit.bytes;
    return std::nullopt;
}

/// `digits` behind the point, as a share of `unit`, rounded down. At most 10^9 · 10^12 fits.
std::uint64_t fraction_of(std::uint64_t unit, std::uint64_t digits, std::size_t count) {
    long double share = static_cast<long double>(digits);
    for (std::size_t i = 0; i < count; ++i)
        share /= 10;
    return static_cast<std::uint64_t>(share * static_cast<long double>(unit));
}

std::string with_one_digit(std::uint64_t count, std::uint64_t unit, std::string_view name) {
    return fmt::format("{}.{} {}", count / unit, count % unit * 10 / unit, name);
}

std::string day_text(WallTime at) {
    const std::chrono::year_month_day day{std::chrono::floor<std::chrono::days>(at)};
    return fmt::format("{:04}-{:02}-{:02}", int{day.year()}, unsigned{day.month()},
                       unsigned{day.day()});
}

}  // namespace

std::string size_text(Bytes size) {
    if (size >= gib(1024))
        return with_one_digit(size.count, gib(1024).count, "TiB");
    if (size >= gib(1))
        return with_one_digit(size.count, gib(1).count, "GiB");
    if (size >= mib(1))
        return fmt::format("{} MiB", size.count >> 20U);
    if (size >= kib(1))
        return fmt::format("{} KiB", size.count >> 10U);
    return fmt::format("{} B", size.count);
}

std::optional<Bytes> parse_size(std::string_view text) {
    text = trimmed(text);
    const auto digits_end = std::min(text.find_first_not_of("0123456789."), text.size());
    const auto number = text.substr(0, digits_end);
    const auto name = trimmed(text.substr(digits_end));
    const auto unit = unit_bytes(name);
    const auto point = std::min(number.find('.'), number.size());
    const auto whole = parse_number<std::uint64_t>(number.substr(0, point));
    if (!unit || !whole ||
        (*whole != 0 && *unit > std::numeric_limits<std::uint64_t>::max() / *whole))
        return std::nullopt;
    Bytes size{*whole * *unit};
    if (point == number.size())
        return size;
    const auto behind = number.substr(point + 1);
    const auto digits = parse_number<std::uint64_t>(behind);
    if (!digits || behind.size() > kMaxFractionDigits || *unit == 1)
        return std::nullopt;
    const auto fraction = fraction_of(*unit, *digits, behind.size());
    if (size.count > std::numeric_limits<std::uint64_t>::max() - fraction)
        return std::nullopt;
    return Bytes{size.count + fraction};
}

std::string duration_text(Duration duration, std::string_view micro) {
    const auto count = duration.count();
    if (count < 1'000)
        return fmt::format("{} {}s", count, micro);
    if (count < 1'000'000)
        return fmt::format("{} ms", count / 1'000);
    if (count < 120'000'000)
        return fmt::format("{}.{} s", count / 1'000'000, count % 1'000'000 / 100'000);
    return fmt::format("{} min", count / 60'000'000);
}

std::string age_text(WallTime at, WallTime now) {
    using std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
    const auto age = now - at;
    if (age < seconds{1})
        return "just now";
    if (age < minutes{2})
        return fmt::format("{} s ago", age / seconds{1});
    if (age < hours{2})
        return fmt::format("{} min ago", age / minutes{1});
    if (age < hours{48})
        return fmt::format("{} h ago", age / hours{1});
    return "on " + day_text(at);
}

std::string time_text(WallTime at) {
    const std::chrono::hh_mm_ss time{at - std::chrono::floor<std::chrono::days>(at)};
    return fmt::format("{} {:02}:{:02} UTC", day_text(at), time.hours().count(),
                       time.minutes().count());
}

}  // namespace gpuprobe
