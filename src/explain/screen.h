// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe {

/// What a piece of text means; a terminal shows it as colour or weight.
enum class Tone { Plain, Strong, Good, Bad, Unsure, Faint };

/// The place that text is written for.
struct Screen {
    std::size_t columns = 0;  ///< 0: unlimited, as for a pipe
    bool is_coloured = false;
    bool is_unicode = true;
    bool has_legend = true;  ///< titles and closing hints
    bool is_terminal = false;

    [[nodiscard]] std::string_view ellipsis() const { return is_unicode ? "…" : "..."; }
    [[nodiscard]] std::string_view dot() const { return is_unicode ? " · " : " - "; }
    [[nodiscard]] std::string_view bullet() const { return is_unicode ? "•" : "*"; }
    [[nodiscard]] std::string_view dash() const { return is_unicode ? "–" : "-"; }
    [[nodiscard]] std::string_view micro() const { return is_unicode ? "µ" : "u"; }
};

/// The text with that tone, where the screen has colour.
std::string toned(const Screen& screen, Tone tone, std::string_view text);

/// A paragraph that hangs below `lead`: the lead on the first line, the rest indented to its width.
/// Each line ends with a newline. `lead` may carry tone; `lead_width` is what it shows.
std::string hanging(const Screen& screen,
                    std::string_view lead,
                    std::size_t lead_width,
                    std::string_view text,
                    Tone tone = Tone::Plain);

}  // namespace gpuprobe
