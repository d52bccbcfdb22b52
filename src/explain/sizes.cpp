// SPDX-License-Identifier: Apache-2.0
#include "explain/sizes.h"

#include <fmt/format.h>

namespace gpuprobe {
namespace {

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
