// SPDX-License-Identifier: Apache-2.0
#include "cli/screen.h"

#include <algorithm>
#include <cstdlib>

#include <langinfo.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/parse.h"
#include "cli/text_width.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMinColumns = 40;
constexpr std::size_t kMaxColumns = 1000;

/// The start sequence of a tone: SGR parameters of ECMA-48.
std::string_view sgr(Tone tone) {
    switch (tone) {
        case Tone::Strong:
            return "\x1b[1m";
        case Tone::Good:
            return "\x1b[32m";
        case Tone::Bad:
            return "\x1b[31m";
        case Tone::Unsure:
            return "\x1b[33m";
        case Tone::Faint:
            return "\x1b[2m";
        case Tone::Plain:
            break;
    }
    return "";
}

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

std::string toned(const Screen& screen, Tone tone, std::string_view text) {
    if (!screen.is_coloured || tone == Tone::Plain || text.empty())
        return std::string{text};
    return std::string{sgr(tone)} + std::string{text} + "\x1b[0m";
}

std::string hanging(const Screen& screen,
                    std::string_view lead,
                    std::size_t lead_width,
                    std::string_view text,
                    Tone tone) {
    const std::size_t room = screen.columns > lead_width + 20 ? screen.columns - lead_width : 0;
    std::string paragraph;
    for (const auto& line : wrapped(text, room)) {
        paragraph += paragraph.empty() ? std::string{lead} : std::string(lead_width, ' ');
        paragraph += toned(screen, tone, line) + "\n";
    }
    return paragraph;
}

}  // namespace gpuprobe
