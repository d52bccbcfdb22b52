// SPDX-License-Identifier: Apache-2.0
#include "export/instant_text.h"

namespace gpuprobe::inline exports {
namespace {

std::string padded(long number, std::size_t width) {
    auto digits = std::to_string(number);
    return std::string(width > digits.size() ? width - digits.size() : 0, '0') + digits;
}

}  // namespace

std::string instant_text(WallTime instant) {
    const auto day = std::chrono::floor<std::chrono::days>(instant);
    const std::chrono::year_month_day date{day};
    const std::chrono::hh_mm_ss time{std::chrono::floor<std::chrono::seconds>(instant - day)};
    return padded(static_cast<int>(date.year()), 4) + "-" +
           padded(static_cast<unsigned>(date.month()), 2) + "-" +
           padded(static_cast<unsigned>(date.day()), 2) + "T" + padded(time.hours().count(), 2) +
           ":" + padded(time.minutes().count(), 2) + ":" + padded(time.seconds().count(), 2) + "Z";
}

}  // namespace gpuprobe::inline exports
