// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <algorithm>

#include "base/text.h"

namespace gpuprobe::inline cli {
namespace {

/// The position of the cursor in the command line.
struct Place {
    const Verb* verb = nullptr;
    std::size_t operands = 0;        ///< of the verb, before the cursor
    const Option* option = nullptr;  ///< set if the word at the cursor is this option's value
};

/// Whether the option has that name.
bool is_called(const Option& option, std::string_view word) {
    const auto names = split(option.names, ',');
    return std::ranges::find(names, word) != names.end() ||
           (!option.also.empty() && option.also == word);
}

/// Every option that is allowed at that position.
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

/// The option with that name. A value after "=" is ignored.
const Option* option_called(const Place& place, std::string_view word) {
    for (const auto* option : options_at(place))
        if (is_called(*option, word.substr(0, word.find('='))))
            return option;
    return nullptr;
}

/// Stores a global option, because those options determine which daemon or machine is asked for
/// names. Invalid values are ignored: a completion does not report errors.
void take(Arguments& arguments, const Option& option, std::string_view value) {
    const auto& groups = global_options();
    for (const auto& group : groups)
        for (const auto& known : group.options)
            if (&known == &option && !option.value.name.empty())
                (void)option.accept(arguments, std::string{value});
}

/// Walks over the words before the cursor and finds what may follow them.
Place place_behind(const std::vector<std::string>& words, Arguments& arguments) {
    Place place;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
        const std::string_view word = words[i];
        if (!word.starts_with("-")) {
            // The first word that is not an option is the verb.
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
        // The value follows "=", or it is the next word, which may be the one at the cursor.
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

/// Offers the words that fit. `text` is the value as typed so far, and `front` is the text before
/// it in the same word ("--only=").
void offer_words(Completion& completion,
                 const Word& word,
                 std::string_view front,
                 std::string_view text) {
    // In a list, only the item after the last comma is completed, and items are not repeated.
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
        // Offer "-q" only if the long name does not match.
        else if (option->names.starts_with(begun))  // "-q"
            add(completion, std::string{option->names.substr(0, 2)}, help);
    }
}

void offer_verbs(Completion& completion, std::string_view begun) {
    for (const auto& verb : verbs())
        if (verb.name.starts_with(begun))
            add(completion, std::string{verb.name}, verb.overview.front().text);
}

/// Offers words for the next operand. The last operand may repeat.
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

}  // namespace gpuprobe::inline cli
