// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal.h"

#include <algorithm>
#include <cstdlib>

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::size_t kMinColumns = 40;
constexpr std::size_t kMaxColumns = 1000;

std::string_view variable(const char* name) {
    const char* text = std::getenv(name);
    return text ? text : "";
}

std::size_t terminal_columns(int descriptor) {
    winsize size{};
    std::size_t columns = 80;
    if (const auto asked = parse_number<std::size_t>(variable("COLUMNS")))
        columns = *asked;
    else if (::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        columns = size.ws_col;
    return std::clamp(columns, kMinColumns, kMaxColumns);
}

}  // namespace

Screen screen_of(int descriptor, ColourMode mode) {
    Screen screen;
    screen.is_terminal = ::isatty(descriptor) == 1;
    screen.columns = screen.is_terminal ? terminal_columns(descriptor) : 0;
    screen.is_unicode = std::string_view{::nl_langinfo(CODESET)} == "UTF-8";
    const bool may_colour =
        screen.is_terminal && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
    screen.is_coloured = mode == ColourMode::Always || (mode == ColourMode::Auto && may_colour);
    return screen;
}

}  // namespace gpuprobe::inline cli
