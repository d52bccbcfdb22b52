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
constexpr std::size_t kTextColumn = 20;  ///< the leftmost column of the descriptions of entries

constexpr std::string_view kGpuNames = R"(
To name a GPU, use its id, its index in the list, its PCI address, a node such as
/dev/dri/renderD128, the beginning of its id, or a part of its name.

Exit status: 0 success, 1 failure, 2 incorrect usage, 3 nothing matches, 4 no daemon (with
--socket), 5 not authorized, 6 the doctor found a problem that prevents the use of a GPU.
)";

/// The left column of an option, such as "-q, --quiet", " --json=MODE". Long names are aligned,
/// whether or not the option has a short name.
std::string option_words(const Option& option) {
    std::string text{option.names};
    if (const auto comma = text.find(','); comma != std::string::npos)
        text.insert(comma + 1, " ");
    else if (text.starts_with("--"))
        text.insert(0, "    ");
    return option.value.name.empty() ? text : fmt::format("{}={}", text, option.value.name);
}

/// An entry: the words on the left, and the description at `column` on as many lines as needed. If
/// the words are too long, the description starts on the next line.
std::string entry(const std::string& words, std::string_view text, std::size_t column) {
    auto lead = padded_right("  " + words, column - 2) + "  ";
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
        "Usage: gpuprobectl [VERB] [OPTION…]\n\nShows which GPUs this machine has, which APIs work "
        "on them, and which backend to use.\n\n";
    std::string_view before;
    for (const auto& verb : verbs()) {
        if (title_of(verb.group) != before)
            page += fmt::format("{}{}\n", before.empty() ? "" : "\n", title_of(verb.group));
        before = title_of(verb.group);
        for (const auto& line : verb.overview)
            page += entry(std::string{line.words}, line.text, kTextColumn);
    }
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

/// The indentation of the descriptions of entries on the narrowest terminals.
constexpr std::size_t kNarrowIndent = 6;
constexpr std::string_view kUsage = "Usage: ";

/// Whether a line shows how to call a verb. In a page, these lines follow each other after
/// "Usage:".
bool is_usage(std::string_view lead, std::string_view text) {
    return text.starts_with(kUsage) ||
           (lead.size() == kUsage.size() && text.starts_with("gpuprobectl "));
}

/// A line of the usage. Text that does not fit continues on the next line, further to the right.
std::string narrowed_usage(std::string_view line, std::size_t columns) {
    const auto words = line.substr(kUsage.size());
    const std::string indent(kUsage.size(), ' ');
    std::string text;
    for (const auto& part : wrapped(words, columns - kUsage.size() - 2))
        text += (text.empty() ? std::string{line.substr(0, kUsage.size())} : indent + "  ") + part +
                "\n";
    return text;
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
        // If the words of an entry are too long, the text of the entry starts on the next line.
        const bool is_below = start == first && first >= kTextColumn;
        const bool is_entry = start > first || is_below;
        std::string joined{lines[i].substr(start)};
        auto lead = std::string{lines[i].substr(0, start)};
        for (++i;
             (is_prose || is_entry) && i < lines.size() && continues(lines[i], start, is_prose);
             ++i)
            joined += " " + std::string{lines[i].substr(start)};
        if (is_usage(lead, joined)) {
            text += narrowed_usage(lead + joined, columns);
            continue;
        }
        // Empty lines and examples are kept as they are.
        if (joined.empty() || (!is_prose && !is_entry)) {
            text += lead + joined + "\n";
            continue;
        }
        // If fewer than 20 columns are left for the text, the text starts on the line after the
        // words.
        if (columns < display_width(lead) + 20) {
            const auto words = lead.substr(0, lead.find_last_not_of(' ') + 1);
            text += words.empty() ? "" : words + "\n";
            lead.assign(kNarrowIndent, ' ');
        }
        for (const auto& line : wrapped(joined, columns - display_width(lead))) {
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

namespace {

/// The position of the cursor in the command line.
struct Place {
    const Verb* verb = nullptr;
    std::size_t operands = 0;        ///< the verb's operands before the cursor
    const Option* option = nullptr;  ///< set if the word at the cursor is this option's value
};

/// Whether `word` is a name of the option.
bool is_called(const Option& option, std::string_view word) {
    const auto names = split(option.names, ',');
    return std::ranges::find(names, word) != names.end() ||
           (!option.also.empty() && option.also == word);
}

/// Every option that is allowed at the position `place`.
std::vector<const Option*> options_at(const Place& place) {
    std::vector<const Option*> options;
    if (place.verb)
        for (const auto& option : place.verb->options)
            options.push_back(&option);
    for (const auto& group : global_options())
        for (const auto& option : group.options)
            options.push_back(&option);
    return options;
}

/// The option whose name is `word`. A value after "=" is ignored.
const Option* option_called(const Place& place, std::string_view word) {
    for (const auto* option : options_at(place))
        if (is_called(*option, word.substr(0, word.find('='))))
            return option;
    return nullptr;
}

/// Stores a global option, because global options determine which daemon or machine provides the
/// names. Invalid values are ignored: a completion does not report errors.
void take(Arguments& arguments, const Option& option, std::string_view value) {
    const auto& groups = global_options();
    for (const auto& group : groups)
        for (const auto& known : group.options)
            if (&known == &option && !option.value.name.empty())
                (void)option.accept(arguments, std::string{value});
}

/// Reads the words before the cursor and determines which words may follow them.
Place place_behind(const std::vector<std::string>& words, Arguments& arguments) {
    Place place;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string_view word = words[i];
        if (!word.starts_with("-")) {
            // The first word that isn't an option is the verb.
            const bool is_operand = place.verb != nullptr;
            if (is_operand)
                ++place.operands;
            else
                place.verb = find_verb(word);
            continue;
        }
        const auto* option = option_called(place, word);
        if (!option || option->value.name.empty())
            continue;
        // The value follows "=", or the next word is the value; that word may be the word at the
        // cursor.
        if (const auto equals = word.find('='); equals != std::string_view::npos)
            take(arguments, *option, word.substr(equals + 1));
        else if (++i + 1 == words.size())
            place.option = option;
        else
            take(arguments, *option, words[i]);
    }
    return place;
}

void add(Completion& completion, std::string word, std::string_view help) {
    completion.offers.push_back({.word = std::move(word), .help = std::string{help}});
}

/// Offers the words that fit. `text` is the value as typed so far, and `front` is the part of the
/// same word before the value ("--only=").
void offer_words(Completion& completion,
                 const Word& word,
                 std::string_view front,
                 std::string_view text) {
    // In a list, only the item after the last comma is completed, and items aren't repeated.
    const auto comma = word.is_list ? text.rfind(',') : std::string_view::npos;
    const auto kept = comma == std::string_view::npos ? 0 : comma + 1;
    completion.lead = std::string{front} + std::string{text.substr(0, kept)};
    completion.begun = text.substr(kept);
    completion.names = word.names;
    const auto taken = split(text.substr(0, kept), ',');
    for (const auto offer : words(word.offers))
        if (offer.starts_with(completion.begun) && std::ranges::find(taken, offer) == taken.end())
            add(completion, completion.lead + std::string{offer}, "");
}

void offer_options(Completion& completion, const Place& place, std::string_view begun) {
    for (const auto* option : options_at(place)) {
        const auto name = long_name(*option);
        const auto help = option->help.substr(0, option->help.find('\n'));
        if (name.starts_with(begun))
            add(completion, std::string{name} + (option->value.name.empty() ? "" : "="), help);
        // Offer a short name such as "-q" only if the long name does not match.
        else if (option->names.starts_with(begun))  // "-q"
            add(completion, std::string{option->names.substr(0, 2)}, help);
    }
}

void offer_verbs(Completion& completion, std::string_view begun) {
    for (const auto& verb : verbs())
        if (verb.name.starts_with(begun))
            completion.offers.push_back({.word = std::string{verb.name},
                                         .help = std::string{verb.overview.front().text},
                                         .group = std::string{title_of(verb.group)}});
}

/// Offers words for the next operand. The last operand may be repeated.
void offer_operand(Completion& completion, const Place& place, std::string_view begun) {
    const auto& operands = place.verb->operands;
    if (operands.empty() || (place.operands >= operands.size() && !operands.back().repeats))
        return;
    const auto& operand = operands[std::min(place.operands, operands.size() - 1)];
    offer_words(completion, operand.word, "", begun);
    if (operand.word.names & kVerbs)
        offer_verbs(completion, begun);
}

}  // namespace

Completion completion_of(const std::vector<std::string>& words) {
    Completion completion;
    if (words.empty())
        return completion;
    const auto place = place_behind(words, completion.arguments);
    const std::string_view begun = words.back();
    const auto equals = begun.find('=');
    // In order: a value after a space, a value after "=", an option, the verb, an operand.
    if (place.option) {
        offer_words(completion, place.option->value, "", begun);
    } else if (begun.starts_with("-") && equals != std::string_view::npos) {
        const auto* option = option_called(place, begun);
        if (option && !option->value.name.empty())
            offer_words(completion, option->value, begun.substr(0, equals + 1),
                        begun.substr(equals + 1));
    } else if (begun.starts_with("-")) {
        offer_options(completion, place, begun);
    } else if (!place.verb) {
        offer_verbs(completion, begun);
    } else {
        offer_operand(completion, place, begun);
    }
    return completion;
}

/// The names come from a data file or from the machine, so they are looked up after
/// completion_of().
std::vector<Offer> offers_of(const Completion& completion, const std::vector<Offer>& names) {
    std::vector<Offer> offers;
    for (const auto& name : names)
        if (name.word.starts_with(completion.begun))
            offers.push_back({.word = completion.lead + name.word, .help = name.help});
    return offers;
}

/// The verb `help` has no implementation: parse_arguments() prints the help.
Verb help_verb() {
    return {
        .name = "help",
        .group = VerbGroup::Advanced,
        .overview = {{"help [VERB]", "show this page, or the help page of a verb"}},
        .usage = {"help [VERB]"},
        .about = R"(
Shows the overview, or the help page of a verb.
)",
        .operands = {{.word = {.name = "VERB", .names = kVerbs}, .take = put<&Arguments::topic>}}};
}

}  // namespace gpuprobe::inline cli
