// SPDX-License-Identifier: Apache-2.0
#include "explain/screen.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gpuprobe::inline explain {
namespace {

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

/// A range of code points, with both ends.
struct Range {
    char32_t first;
    char32_t last;
};

constexpr std::array<Range, 11> kDoubleWidth = {{{0x1100, 0x115F},
                                                 {0x2E80, 0x303E},
                                                 {0x3041, 0x33FF},
                                                 {0x3400, 0x4DBF},
                                                 {0x4E00, 0x9FFF},
                                                 {0xA000, 0xA4CF},
                                                 {0xAC00, 0xD7A3},
                                                 {0xF900, 0xFAFF},
                                                 {0xFF00, 0xFF60},
                                                 {0x1F300, 0x1FAFF},
                                                 {0x20000, 0x3FFFD}}};

bool is_double_width(char32_t point) {
    return std::ranges::any_of(kDoubleWidth, [point](const Range& range) {
        return range.first <= point && point <= range.last;
    });
}

/// The display width of a character. A single byte is ASCII, or invalid, and takes one column.
std::size_t columns_of(const Utf8Character& character) {
    if (character.bytes == 1)
        return 1;
    if (is_mark(*character.point) || is_unprintable(*character.point))
        return 0;
    return is_double_width(*character.point) ? 2 : 1;
}

/// The length in bytes of the longest prefix that fits.
std::size_t fitting_bytes(std::string_view text, std::size_t columns) {
    std::size_t bytes = 0;
    std::size_t used = 0;
    while (bytes < text.size()) {
        const auto next = first_character(text.substr(bytes));
        if (used + columns_of(next) > columns)
            break;
        used += columns_of(next);
        bytes += next.bytes;
    }
    return bytes;
}

bool starts_a_command(std::string_view text) {
    return text.starts_with("sudo ") || text.starts_with("gpuprobectl ");
}

/// True if the text after a colon looks like a command (see command_in()).
bool is_command(std::string_view text) {
    return text.find(", ") == std::string_view::npos &&
           (starts_a_command(text) ||
            std::ranges::any_of(split(text, ' '), [](std::string_view word) {
                return word.starts_with('-') || word.starts_with('/') ||
                       word.find('=') != std::string_view::npos;
            }));
}

}  // namespace

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
    // With under 20 columns for the text, leave wrapping to the terminal.
    const std::size_t room = screen.columns > lead_width + 20 ? screen.columns - lead_width : 0;
    std::string paragraph;
    for (const auto& line : wrapped(text, room)) {
        paragraph += paragraph.empty() ? std::string{lead} : std::string(lead_width, ' ');
        paragraph += toned(screen, tone, line) + "\n";
    }
    return paragraph;
}

std::string hanging_fix(const Screen& screen,
                        std::string_view lead,
                        std::size_t lead_width,
                        std::string_view fix,
                        std::size_t command) {
    if (command > fix.size() || screen.columns == 0 ||
        lead_width + display_width(fix) <= screen.columns)
        return hanging(screen, lead, lead_width, fix);
    // The words are wrapped as usual, and the command follows on a new line.
    const auto words = trimmed(fix.substr(0, command));
    const auto start =
        words.empty() ? std::string{lead}
                      : hanging(screen, lead, lead_width, words) + std::string(lead_width, ' ');
    return start + std::string{fix.substr(command)} + "\n";
}

std::size_t command_in(std::string_view fix) {
    if (starts_a_command(fix))
        return 0;
    const auto colon = fix.find(": ");
    return colon != std::string_view::npos && is_command(fix.substr(colon + 2))
               ? colon + 2
               : std::string_view::npos;
}

std::size_t display_width(std::string_view text) {
    std::size_t columns = 0;
    while (!text.empty()) {
        const auto next = first_character(text);
        columns += columns_of(next);
        text.remove_prefix(next.bytes);
    }
    return columns;
}

std::string cut_to(std::string_view text, std::size_t columns, std::string_view mark) {
    if (display_width(text) <= columns)
        return std::string{text};
    const std::size_t mark_width = display_width(mark);
    if (mark_width > columns)
        return std::string{text.substr(0, fitting_bytes(text, columns))};
    auto start = text.substr(0, fitting_bytes(text, columns - mark_width));
    // No space before the mark.
    while (start.ends_with(' '))
        start.remove_suffix(1);
    return std::string{start} + std::string{mark};
}

std::string padded_right(std::string_view text, std::size_t columns) {
    const std::size_t width = display_width(text);
    return std::string{text} + std::string(columns > width ? columns - width : 0, ' ');
}

std::vector<std::string> wrapped(std::string_view text, std::size_t columns) {
    if (columns == 0)
        return {std::string{text}};
    std::vector<std::string> lines(1);
    for (const auto word : words(text)) {
        auto& line = lines.back();
        // Start a new line, unless this one is still empty: a long word is never broken.
        if (!line.empty() && display_width(line) + 1 + display_width(word) > columns)
            lines.emplace_back(word);
        else
            line += (line.empty() ? "" : " ") + std::string{word};
    }
    return lines;
}

}  // namespace gpuprobe::inline explain
