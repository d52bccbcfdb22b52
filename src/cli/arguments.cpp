// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/parse.h"
#include "base/record.h"
#include "base/suggestion.h"
#include "cli/help.h"
#include "cli/verb.h"

namespace gpuprobe::inline cli {
namespace {

/// A word's failure names the option or the place in front of it.
template <class Take>
CLI::callback_t taking(Arguments& arguments, Take take, std::string name) {
    return [&arguments, take, name = std::move(name)](const CLI::results_t& words) {
        for (const auto& word : words)
            if (const auto taken = take(arguments, word); !taken)
                throw CLI::ValidationError{name, taken.error().text};
        return true;
    };
}

CLI::Validator one_of(const Word& word) {
    std::vector<std::string> offers;
    for (const auto offer : words(word.offers))
        offers.emplace_back(offer);
    return {[offers = std::move(offers)](const std::string& given) {
                if (std::ranges::find(offers, given) != offers.end())
                    return std::string{};
                return fmt::format("unknown value '{}'{}", scrubbed(given, 64),
                                   suggestion(given, offers));
            },
            "WORD"};
}

CLI::Validator each_of(const Word& word) {
    return {[one = one_of(word)](std::string& list) {
                std::string problem;
                for (auto item : comma_list(list))
                    problem = problem.empty() ? one(item) : problem;
                return problem;
            },
            "LIST"};
}

void add_option(CLI::App& app, Arguments& arguments, const Option& option) {
    auto names = std::string{option.names};
    if (!option.also.empty())
        names += "," + std::string{option.also};
    const auto take = [&option](Arguments& into, const std::string& word) {
        return option.accept(into, word);
    };
    if (option.value.name.empty()) {
        app.add_flag_callback(names, [&arguments, take] { (void)take(arguments, ""); });
        return;
    }
    auto& added = *app.add_option(names, taking(arguments, take, std::string{long_name(option)}));
    added.expected(1);
    if (option.repeats)
        added.take_all();
    if (!option.value.takes_others)
        added.check(option.value.is_list ? each_of(option.value) : one_of(option.value));
}

void add_operand(CLI::App& verb, Arguments& arguments, const Operand& operand) {
    const std::string name{operand.word.name};
    auto& added = *verb.add_option(name, taking(arguments, operand.take, name));
    if (operand.repeats)
        added.expected(0, -1)->allow_extra_args()->take_all();
    if (!operand.word.takes_others)
        added.check(one_of(operand.word));
}

void add_verb(CLI::App& app, Arguments& arguments, const Verb& verb) {
    auto& added = *app.add_subcommand(std::string{verb.name});
    added.set_help_flag();
    added.fallthrough();
    for (const auto& operand : verb.operands)
        add_operand(added, arguments, operand);
    for (const auto& option : verb.options)
        add_option(added, arguments, option);
}

void add_everything(CLI::App& app, Arguments& arguments) {
    for (const auto& group : global_options())
        for (const auto& option : group.options)
            add_option(app, arguments, option);
    for (const auto& verb : verbs())
        add_verb(app, arguments, verb);
}

/// The hint follows the problem on a line of its own.
Parsed refused(std::string_view text) {
    return {.refusal = Refusal{.text = fmt::format("gpuprobectl: {}\n", text)}};
}

Parsed refused(std::string_view problem, std::string_view hint) {
    return {.refusal = Refusal{.text = fmt::format("gpuprobectl: {}\n{}\n", problem, hint)}};
}

std::string hint_on(std::string_view verb) {
    return verb.empty() ? "See 'gpuprobectl help'."
                        : fmt::format("See 'gpuprobectl help {}'.", verb);
}

/// "--jsno" could be "--json": the options of the help text are the ones there are. One letter is
/// near every other.
std::string advice(const std::string& word, std::string_view verb) {
    const bool is_option = word.starts_with("-");
    if (is_option && word.size() == 2)
        return hint_on(verb);
    const auto near =
        closest(word.substr(0, word.find('=')), is_option ? option_names() : verb_names());
    if (near && is_option && *near == word.substr(0, word.find('=')))
        return fmt::format("'{}' goes behind the verb that it belongs to; see 'gpuprobectl help'.",
                           *near);
    if (near)
        return fmt::format("Did you mean '{}'?", *near);
    return hint_on(is_option ? verb : "");
}

std::string chosen_verb(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? "" : chosen.front()->get_name();
}

Parsed unexpected(const CLI::App& app) {
    const auto extras = app.remaining(true);
    const auto word = scrubbed(extras.empty() ? "" : extras.front(), 64);
    const auto verb = chosen_verb(app);
    if (word.starts_with("-"))
        return refused(fmt::format("unknown option '{}'", word), advice(word, verb));
    if (!verb.empty())
        return refused(fmt::format("{}: unexpected '{}'", verb, word), hint_on(verb));
    return refused(fmt::format("unknown verb '{}'", word), advice(word, verb));
}

/// Its second line, if it has one, is the hint.
Parsed refused(const Error& problem, std::string_view verb) {
    if (problem.text.find('\n') != std::string::npos)
        return refused(problem.text);
    return refused(problem.text, hint_on(verb));
}

/// The same answer whatever the order of the options.
Value in_order(const Value& request, std::span<const RequestKey> keys) {
    Value ordered{Value::Object{}};
    for (const auto& key : keys)
        if (const auto* value = request.find(key.key))
            ordered[key.key] = *value;
    return ordered;
}

Parsed finished(Arguments arguments, bool is_terminal) {
    if (arguments.wants_json && arguments.json == JsonMode::Off)
        arguments.json = is_terminal ? JsonMode::Pretty : JsonMode::Short;
    if (arguments.wants_version)
        arguments.verb = "version";
    if (arguments.bus && (arguments.is_direct || arguments.replay))
        return refused(
            refusal("--bus asks a daemon and --direct or --replay does not: give one of them"),
            arguments.verb);
    arguments.select.request = in_order(arguments.select.request, select_keys());
    arguments.recommend.request = in_order(arguments.recommend.request, recommend_keys());
    arguments.overriding.variants = in_order(arguments.overriding.variants, recommend_keys());
    const auto& verb = *find_verb(arguments.verb);
    if (verb.check)
        if (const auto checked = verb.check(arguments); !checked)
            return refused(checked.error(), arguments.verb);
    return {.arguments = std::move(arguments)};
}

/// What CLI11 throws at a word of ours; each line of it is one of ours.
Parsed unreadable(std::string_view what, std::string_view verb) {
    const auto lines = split(what, '\n');
    return refused(scrubbed(lines.front()), lines.size() > 1 ? scrubbed(lines[1]) : hint_on(verb));
}

/// What CLI11 throws at a value that is missing, "--built: 1 required LIST missing", or that comes
/// twice.
Parsed miscounted(std::string_view what, std::string_view verb) {
    const auto option = scrubbed(what.substr(0, what.find(':')), 64);
    return refused(what.ends_with("missing") ? fmt::format("{} takes a value", option)
                                             : fmt::format("{} is given twice", option),
                   hint_on(verb));
}

/// In the order that CLI11 takes them: the last first. It takes "--built=" for a missing value, and
/// an empty word behind "--built" for an empty one.
std::vector<std::string> reversed(const std::vector<std::string>& words) {
    std::vector<std::string> last_first;
    for (auto word = words.rbegin(); word != words.rend(); ++word) {
        const bool is_empty_value = word->starts_with("--") && word->find('=') + 1 == word->size();
        if (is_empty_value)
            last_first.emplace_back();
        last_first.push_back(is_empty_value ? word->substr(0, word->size() - 1) : *word);
    }
    return last_first;
}

/// What stands behind the first "--", if a verb in front of it takes a program; those words are not
/// ours to read. `words` keeps the others.
std::vector<std::string> program_words(std::vector<std::string>& words) {
    const auto dashes = std::ranges::find(words, "--");
    const auto is_such = [](const std::string& word) {
        const auto* verb = find_verb(word);
        return verb && verb->takes_program;
    };
    if (dashes == words.end() || std::none_of(words.begin(), dashes, is_such))
        return {};
    std::vector<std::string> program{dashes + 1, words.end()};
    words.erase(dashes, words.end());
    return program;
}

}  // namespace

Parsed parse_arguments(const std::vector<std::string>& all_words, bool is_terminal) {
    auto words = all_words;
    Arguments arguments;
    arguments.run.program = program_words(words);
    CLI::App app;
    app.set_help_flag();
    app.require_subcommand(0, 1);
    add_everything(app, arguments);
    try {
        app.parse(reversed(words));
    } catch (const CLI::ExtrasError&) {
        return unexpected(app);
    } catch (const CLI::ArgumentMismatch& problem) {
        return miscounted(problem.what(), chosen_verb(app));
    } catch (const CLI::ParseError& problem) {
        return unreadable(problem.what(), chosen_verb(app));
    }
    const auto verb = chosen_verb(app);
    if (arguments.wants_help || verb == "help") {
        const auto topic = arguments.topic.value_or(verb == "help" ? "" : verb);
        if (const auto text = help_text(topic))
            return {.refusal = Refusal{.is_help = true, .text = *text}};
        return refused(fmt::format("no help on '{}'", scrubbed(topic, 64)), advice(topic, ""));
    }
    arguments.verb = verb.empty() ? "status" : verb;
    return finished(std::move(arguments), is_terminal);
}

Value override_rule_of(const Arguments& arguments) {
    auto rule = arguments.select.request;
    if (!arguments.overriding.variants.as_object()->empty())
        rule["variants"] = arguments.overriding.variants;
    return rule;
}

}  // namespace gpuprobe::inline cli
