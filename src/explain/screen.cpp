// SPDX-License-Identifier: Apache-2.0
#include "explain/screen.h"

#include "explain/text_width.h"

namespace gpuprobe {
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
    const std::size_t room = screen.columns > lead_width + 20 ? screen.columns - lead_width : 0;
    std::string paragraph;
    for (const auto& line : wrapped(text, room)) {
        paragraph += paragraph.empty() ? std::string{lead} : std::string(lead_width, ' ');
        paragraph += toned(screen, tone, line) + "\n";
    }
    return paragraph;
}

}  // namespace gpuprobe
