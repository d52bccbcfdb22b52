// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/terminal.h"

namespace gpuprobe::inline cli {
namespace {

constexpr int kBarPlaces = 20;

void write_line(const std::string& text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

}  // namespace

std::string bar(double share, bool is_unicode) {
    const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * kBarPlaces);
    std::string places;
    for (int i = 0; i < kBarPlaces; ++i)
        places += i < full ? (is_unicode ? "━" : "=") : (is_unicode ? "╌" : " ");
    return is_unicode ? places : "[" + places + "]";
}

ProgressLine::ProgressLine(const Arguments& arguments)
    : screen_{screen_of(STDERR_FILENO, arguments.colour)},
      is_wanted_{screen_.is_terminal && !arguments.is_quiet} {}

ProgressLine::~ProgressLine() {
    clear();
}

void ProgressLine::show(std::string_view what) {
    if (!is_wanted_)
        return;
    is_shown_ = true;
    write_line(fmt::format("\r\x1b[K{}{}", what, screen_.ellipsis()));
}

void ProgressLine::show(std::string_view what, double share) {
    if (!is_wanted_)
        return;
    is_shown_ = true;
    write_line(fmt::format("\r\x1b[K{} {} {:3.0f} %", what, bar(share, screen_.is_unicode),
                           std::clamp(share, 0.0, 1.0) * 100));
}

void ProgressLine::clear() {
    if (is_shown_)
        write_line("\r\x1b[K");
    is_shown_ = false;
}

}  // namespace gpuprobe::inline cli
