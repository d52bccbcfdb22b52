// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/verb.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {
namespace {

/// The width for which pages are written.
constexpr std::size_t kColumns = 100;
constexpr std::size_t kTextColumn = 20;  ///< the leftmost column of the texts of entries

constexpr std::string_view kGpuNames = R"(
A GPU is named by its id, its index in the list, its PCI address, a node such as
/dev/dri/renderD128, the start of its id, or a part of its name.

Exit status: 0 answered, 1 failed, 2 usage, 3 nothing matches, 4 no daemon (with --bus),
5 not authorised, 6 the doctor found what keeps a GPU from being used.
)";

/// The left column of an option: "-q, --quiet", "    --json=MODE". Long names are aligned whether
/// or not there is a short one.
std::string option_words(const Option& option) {
    std::string text{option.names};
    if (const auto comma = text.find(','); comma != std::string::npos)
        text.insert(comma + 1, " ");
    else if (text.starts_with("--"))
        text.insert(0, "    ");
    return option.value.name.empty() ? text : fmt::format("{}={}", text, option.value.name);
}

/// An entry: the words, and the text at `column` on as many lines as needed. If the words are too
/// long, the text starts on the next line.
std::string entry(const std::string& words, std::string_view text, std::size_t column) {
    auto lead = padded_right("  " + words, column - 1) + " ";
    std::string page;
    if (display_width(lead) > column)
        page += "  " + words + "\n";
    if (!page.empty())
        lead = std::string(column, ' ');
    for (const auto paragraph : split(text, '\n'))
        for (const auto& line : wrapped(paragraph, kColumns - column)) {
            page += lead + line + "\n";
            lead = std::string(column, ' ');
        }
    return page;
}

std::string option_entries(const std::vector<Option>& options, std::size_t column) {
    std::string page;
    for (const auto& option : options)
        page += entry(option_words(option), option.help, column);
    return page;
}

/// The page of "gpuprobectl help": usage, verbs, global options, and how to name a GPU.
std::string overview() {
    std::string page =
        "Usage: gpuprobectl [VERB] [OPTION…]\n\n"
        "What GPUs this machine has, what works on them, and which backend to use.\n\n";
    for (const auto& verb : verbs())
        for (const auto& line : verb.overview)
            page += entry(std::string{line.words}, line.text, kTextColumn);
    for (const auto& group : global_options())
        page += fmt::format("\n{}\n", group.title) + option_entries(group.options, 22);
    return page + std::string{kGpuNames};
}

/// The page of one verb.
std::string page_on(const Verb& verb) {
    std::string page;
    for (const auto usage : verb.usage)
        page += fmt::format("{} gpuprobectl {}\n", page.empty() ? "Usage:" : "      ", usage);
    page += verb.about;
    if (!verb.options.empty())
        page += "\n" + option_entries(verb.options, 26);
    return page + "\nCommon options: see 'gpuprobectl help'.\n";
}

/// The column at which the text of a line starts: after the last gap of two spaces, or at the start
/// of the line.
std::size_t text_start(std::string_view line) {
    const auto first = std::min(line.find_first_not_of(' '), line.size());
    const auto gap = line.rfind("  ");
    return gap == std::string_view::npos || gap < first ? first : gap + 2;
}

/// Whether a line continues the text of the previous line, which started at the column `start`.
bool continues(std::string_view line, std::size_t start, bool is_prose) {
    return !line.empty() && line.find_first_not_of(' ') == start && (!is_prose || start == 0) &&
           text_start(line) == start;
}

}  // namespace

std::string narrowed(std::string_view page, std::size_t columns) {
    // Pages are written for kColumns, so wider terminals need no change.
    if (columns == 0 || columns >= kColumns)
        return std::string{page};
    std::string text;
    const auto lines = split(page.substr(0, page.size() - 1), '\n');
    for (std::size_t i = 0; i < lines.size();) {
        // Take one paragraph or entry at a time: join its lines, then wrap them again.
        const auto start = text_start(lines[i]);
        const auto first = std::min(lines[i].find_first_not_of(' '), lines[i].size());
        const bool is_prose = start == 0 && !lines[i].empty() && !lines[i].starts_with("Usage:");
        // The text of an entry whose words were too long, so that it starts below them.
        const bool is_below = start == first && first >= kTextColumn;
        const bool is_entry = start > first || is_below;
        std::string joined{lines[i].substr(start)};
        auto lead = std::string{lines[i].substr(0, start)};
        for (++i;
             (is_prose || is_entry) && i < lines.size() && continues(lines[i], start, is_prose);
             ++i)
            joined += " " + std::string{lines[i].substr(start)};
        // Empty lines, examples and usage lines are kept as they are.
        if (joined.empty() || (!is_prose && !is_entry)) {
            text += lead + joined + "\n";
            continue;
        }
        // At least 20 columns for the text, even if the line then exceeds the terminal.
        const auto room = columns - std::min(columns - 20, display_width(lead));
        for (const auto& line : wrapped(joined, room)) {
            text += lead + line + "\n";
            lead.assign(display_width(lead), ' ');
        }
    }
    return text;
}

std::optional<std::string> help_text(std::string_view verb) {
    if (verb.empty())
        return overview();
    const auto* found = find_verb(verb);
    return found ? std::optional{page_on(*found)} : std::nullopt;
}

std::vector<std::string> option_names() {
    std::vector<std::string> names;
    const auto add = [&names](const std::vector<Option>& options) {
        for (const auto& option : options)
            names.emplace_back(long_name(option));
    };
    for (const auto& group : global_options())
        add(group.options);
    for (const auto& verb : verbs())
        add(verb.options);
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

std::vector<std::string> verb_names() {
    std::vector<std::string> names;
    for (const auto& verb : verbs())
        names.emplace_back(verb.name);
    return names;
}

}  // namespace gpuprobe::inline cli
