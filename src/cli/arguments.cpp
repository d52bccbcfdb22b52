// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "cli/help.h"
#include "cli/verb.h"

namespace gpuprobe::inline cli {
namespace {

/// A CLI11 callback that passes each word to `take`. Errors contain `name`: the name of the option,
/// or the placeholder of the operand.
template <class Take>
CLI::callback_t taking(Arguments& arguments, Take take, std::string name) {
    return [&arguments, take, name = std::move(name)](const CLI::results_t& words) {
        for (const auto& word : words)
            if (const auto taken = take(arguments, word); !taken)
                throw CLI::ValidationError{name, taken.error().text};
        return true;
    };
}

/// A CLI11 validator that accepts only the words in `word.offers`. The validator's error suggests
/// the most similar word.
CLI::Validator one_of(const Word& word) {
    std::vector<std::string> offers;
    for (const auto offer : words(word.offers))
        offers.emplace_back(offer);
    return {[offers = std::move(offers)](const std::string& given) {
                if (contains(offers, given))
                    return std::string{};
                return fmt::format("unknown value '{}'{}", scrubbed(given, 64),
                                   suggestion(given, offers));
            },
            "WORD"};
}

/// A CLI11 validator that applies one_of() to each item of a comma-separated list, and reports the
/// first problem.
CLI::Validator each_of(const Word& word) {
    return {[one = one_of(word)](std::string& list) {
                std::string problem;
                for (auto item : comma_list(list))
                    problem = problem.empty() ? one(item) : problem;
                return problem;
            },
            "LIST"};
}

/// Declares an option or flag from our table to CLI11.
void add_option(CLI::App& app, Arguments& arguments, const Option& option) {
    auto names = std::string{option.names};
    if (!option.also.empty())
        names += "," + std::string{option.also};
    const auto take = [&option](Arguments& into, const std::string& word) {
        return option.accept(into, word);
    };
    // An option without a placeholder is a flag.
    if (option.value.name.empty()) {
        app.add_flag_callback(names, [&arguments, take] { (void)take(arguments, ""); });
        return;
    }
    auto& added = *app.add_option(names, taking(arguments, take, std::string{long_name(option)}));
    // Each occurrence of an option takes one value. CLI11 refuses a second occurrence, unless the
    // option accepts several values.
    added.expected(1);
    if (option.repeats)
        added.take_all();
    if (!option.value.takes_others)
        added.check(option.value.is_list ? each_of(option.value) : one_of(option.value));
}

/// Declares a positional argument of a verb to CLI11.
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
    // gpuprobectl prints its own help, so CLI11's help is disabled. Global options may follow the
    // verb.
    added.set_help_flag();
    added.fallthrough();
    for (const auto& operand : verb.operands)
        add_operand(added, arguments, operand);
    for (const auto& option : verb.options)
        add_option(added, arguments, option);
}

/// Declares to CLI11 the global options, and the verbs whose names are among the words. A word that
/// isn't the name of a verb cannot be parsed as a verb, so for most command lines only one verb is
/// declared.
void add_tables(CLI::App& app, Arguments& arguments, const std::vector<std::string>& words) {
    for (const auto& group : global_options())
        for (const auto& option : group.options)
            add_option(app, arguments, option);
    std::vector<const Verb*> named;
    for (const auto& word : words)
        if (const auto* verb = find_verb(word); verb && std::ranges::count(named, verb) == 0) {
            named.push_back(verb);
            add_verb(app, arguments, *verb);
        }
}

/// A refusal with the error message `text`. If there is a hint, it is the second line of the
/// message.
Parsed refused(std::string_view text) {
    return {.refusal = Refusal{.text = fmt::format("gpuprobectl: {}\n", text)}};
}

/// A refusal whose second line is the hint.
Parsed refused(std::string_view problem, std::string_view hint) {
    return {.refusal = Refusal{.text = fmt::format("gpuprobectl: {}\n{}\n", problem, hint)}};
}

/// A hint that refers to the help page of the verb, or to the overview if there is no verb.
std::string hint_on(std::string_view verb) {
    return verb.empty() ? "See 'gpuprobectl help'."
                        : fmt::format("See 'gpuprobectl help {}'.", verb);
}

/// The verbs that accept the option, quoted, such as "'plan', 'select'". Empty if no verb accepts
/// the option.
std::string verbs_with(std::string_view name) {
    std::vector<std::string> having;
    for (const auto& verb : verbs())
        if (std::ranges::any_of(verb.options,
                                [name](const auto& option) { return long_name(option) == name; }))
            having.push_back(fmt::format("'{}'", verb.name));
    return fmt::format("{}", fmt::join(having, ", "));
}

/// A hint about an unknown option or verb. The hint suggests similar names ("--json" for "--jsno");
/// for an option that only other verbs accept, the hint lists those verbs. Options of one letter
/// get no suggestion, because every letter is similar to every other letter.
std::string advice(const std::string& word, std::string_view verb) {
    const bool is_option = word.starts_with("-");
    if (is_option && word.size() == 2)
        return hint_on(verb);
    const auto name = word.substr(0, word.find('='));
    // CLI11 may have recognized the verb although the option precedes the verb.
    const auto own = fmt::format("'{}'", verb);
    if (const auto others = is_option ? verbs_with(name) : ""; !others.empty())
        return verb.empty() || others.find(own) != std::string::npos
                   ? fmt::format("This is an option of {}: write the option after the verb.",
                                 others)
                   : fmt::format("This is an option of {1}, not of {0}.", own, others);
    auto question = did_you_mean(name, is_option ? option_names() : verb_names());
    if (question.empty())
        return hint_on(is_option ? verb : "");
    question.front() = 'D';
    return question;
}

/// The verb that CLI11 recognized, or "".
std::string chosen_verb(const CLI::App& app) {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? "" : chosen.front()->get_name();
}

/// The refusal for a word that isn't a verb, although a verb is expected in its place.
Parsed refused_verb(const std::string& word) {
    if (is_left_out(word))
        return refused(
            fmt::format(
                "'{}' is not included in this program, which is a reduced build for embedding",
                word),
            "The full programs, gpuprobectl and gpuprobe-linux-ARCH, include this verb.");
    return refused(fmt::format("unknown verb '{}'", word), advice(word, ""));
}

/// The refusal for the first word that CLI11 did not recognize: an unknown option, a surplus
/// operand or an unknown verb.
Parsed unexpected(const CLI::App& app) {
    const auto extras = app.remaining(true);
    const auto word = scrubbed(extras.empty() ? "" : extras.front(), 64);
    const auto verb = chosen_verb(app);
    if (word.starts_with("-"))
        return refused(fmt::format("unknown option '{}'", word), advice(word, verb));
    if (!verb.empty())
        return refused(fmt::format("{}: unexpected argument '{}'", verb, word), hint_on(verb));
    return refused_verb(word);
}

/// The refusal for an error from our own checks. The error text may already contain a hint as its
/// second line.
Parsed refused(const Error& problem, std::string_view verb) {
    if (problem.text.find('\n') != std::string::npos)
        return refused(problem.text);
    return refused(problem.text, hint_on(verb));
}

/// The request with its keys in the order of the table, so that the order of the options does not
/// change the answer.
Value in_order(const Value& request, std::span<const RequestKey> keys) {
    Value ordered{Value::Object{}};
    for (const auto& key : keys)
        if (const auto* value = request.find(key.key))
            ordered[key.key] = *value;
    return ordered;
}

/// Completes the arguments after all words have been read, and runs the checks of the verb.
Parsed finished(Arguments arguments, bool is_terminal) {
    // --json=pretty and --json=short override -j.
    if (arguments.wants_json && arguments.json == JsonMode::Off)
        arguments.json = is_terminal ? JsonMode::Pretty : JsonMode::Short;
    if (arguments.wants_version)
        arguments.verb = "version";
    arguments.select.request = in_order(arguments.select.request, select_keys());
    arguments.recommend.request = in_order(arguments.recommend.request, recommend_keys());
    arguments.overriding.variants = in_order(arguments.overriding.variants, recommend_keys());
    const auto& verb = *find_verb(arguments.verb);
    if (arguments.captures.size() > 1 && !verb.takes_captures)
        return refused("--replay is given twice", hint_on(arguments.verb));
    if (verb.check)
        if (const auto checked = verb.check(arguments); !checked)
            return refused(checked.error(), arguments.verb);
    return {.arguments = std::move(arguments)};
}

/// The refusal for an exception that CLI11 threw because one of our validators or callbacks failed.
/// The text of the exception may contain a hint as its second line.
Parsed unreadable(std::string_view what, std::string_view verb) {
    const auto lines = split(what, '\n');
    return refused(scrubbed(lines.front()), lines.size() > 1 ? scrubbed(lines[1]) : hint_on(verb));
}

/// The refusal for a missing value ("--built: 1 required LIST missing") and for an option that is
/// given twice.
Parsed miscounted(std::string_view what, std::string_view verb) {
    const auto option = scrubbed(what.substr(0, what.find(':')), 64);
    return refused(what.ends_with("missing") ? fmt::format("{} requires a value", option)
                                             : fmt::format("{} is given twice", option),
                   hint_on(verb));
}

/// The words in reverse order, as CLI11 expects them. "--built=" becomes "--built" and an empty
/// word, because CLI11 treats "--built=" as a missing value.
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

/// Removes and returns the words after the first "--" if a verb before the "--" takes a program.
/// The words after "--" belong to the program and aren't parsed here.
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

/// Parses in three steps: remove the words that belong to the program of `run`, let CLI11 parse the
/// other words according to the tables, and check the result as a whole. CLI11 throws exceptions to
/// report problems.
Parsed parse_arguments(const std::vector<std::string>& all_words, bool is_terminal) {
    auto words = all_words;
    Arguments arguments;
    arguments.run.program = program_words(words);
    CLI::App app;
    app.set_help_flag();
    // The default verb is "status".
    app.require_subcommand(0, 1);
    add_tables(app, arguments, words);
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
        // "VERB --help" and "help VERB" are the same. "help" without a verb shows the overview.
        const auto topic = arguments.topic.value_or(verb == "help" ? "" : verb);
        if (const auto text = help_text(topic))
            return {.refusal = Refusal{.is_help = true, .text = *text}};
        return is_left_out(topic)
                   ? refused_verb(topic)
                   : refused(fmt::format("no help page for '{}'", scrubbed(topic, 64)),
                             advice(topic, ""));
    }
    arguments.verb = verb.empty() ? "status" : verb;
    return finished(std::move(arguments), is_terminal);
}

Value override_rule_of(const Arguments& arguments) {
    // In a rule, the keys about variants are in a nested object, because backend requests and
    // variant requests both have keys such as "only".
    auto rule = arguments.select.request;
    if (!arguments.overriding.variants.as_object()->empty())
        rule["variants"] = arguments.overriding.variants;
    return rule;
}

}  // namespace gpuprobe::inline cli
