// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "base/value.h"
#include "cli/choice.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"
#include "explain/phrase.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {
namespace {

/// A value of a rule as text.
std::string rule_word(const Value& value) {
    const auto* text = value.as_string();
    return text ? *text : json_line(value);
}

/// A value or list of values as text.
std::string words_of(const Value& value) {
    const auto* names = value.as_array();
    if (!names)
        return rule_word(value);
    std::string words;
    for (const auto& name : *names)
        words += (words.empty() ? "" : ", ") + rule_word(name);
    return words;
}

/// A rule as text: "prefer vulkan, cuda; strict; variants: only cpu".
std::string rule_words(const Value& rule) {
    std::string words;
    for (const auto& member : *rule.as_object()) {
        words += words.empty() ? member.key : "; " + member.key;
        // A flag that is true is shown by its name.
        if (member.value.is_object())
            words += ": " + rule_words(member.value);
        else if (member.value.as_bool() != true)
            words += ' ' + words_of(member.value);
    }
    return scrubbed(words, 512);
}

Result<ExitCode> list_overrides(Context& context) {
    const auto overrides = TRY(context.client.overrides());
    if (context.wants_json()) {
        Value document;
        document["overrides"] = overrides;
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    Table table{{{.title = "CONSUMER"}, {.title = "RULE", .may_shrink = true}, {.title = "UID"}}};
    for (const auto& member : *overrides.as_object())
        table.add({{.text = member.key, .tone = Tone::Strong},
                   {.text = rule_words(member.value.at("rule"))},
                   {.text = json_line(member.value.at("set_by_uid"))}});
    print(table.empty() ? "no overrides\n" : table.text(context.screen));
    return ExitCode::Answered;
}

/// Reports that an override was set or cleared, or that there was none to clear.
Result<ExitCode> done(Context& context, const char* what, bool happened) {
    const auto& consumer = *context.arguments.overriding.consumer;
    if (context.wants_json()) {
        Value document;
        document["consumer"] = consumer;
        document[what] = happened;
        print_json(context.arguments, document);
    } else if (!context.arguments.is_quiet) {
        print(phrase(happened ? "{consumer}: override {what}" : "{consumer}: there was no override",
                     {{"consumer", scrubbed(consumer, 64)}, {"what", what}}) +
              "\n");
    }
    return ExitCode::Answered;
}

Result<ExitCode> run_override(Context& context) {
    const auto& arguments = context.arguments;
    if (arguments.overriding.action == "list")
        return list_overrides(context);
    const auto& consumer = *arguments.overriding.consumer;
    if (arguments.overriding.action == "clear")
        return done(context, "cleared", TRY(context.client.clear_override(consumer)));
    // Rules are stored with ids, which stay valid when the order of GPUs changes.
    auto wanted = arguments;
    TRY(name_gpus_by_id(context, wanted.select.request));
    TRY(context.client.set_override(consumer, override_rule_of(wanted)));
    return done(context, "set", true);
}

Status check_override(Arguments& arguments) {
    if (arguments.overriding.action != "list" && !arguments.overriding.consumer)
        return refusal("override: for which consumer? 'gpuprobectl consumers' lists them");
    return Done{};
}

}  // namespace

Verb override_verb() {
    return {
        .name = "override",
        .overview = {{"override", "set, clear or list your own choice for a consumer"}},
        .usage = {"override set CONSUMER OPTION…", "override clear CONSUMER", "override [list]"},
        .about = R"(
Sets what select and recommend answer for CONSUMER until it is cleared. An override reorders or
narrows the choice; it never makes an unusable backend usable, and its --backend counts only if the
consumer asks for none itself. In the daemon it needs an administrator; with --direct it is only for
you.
)",
        .operands = {{.word = {.name = "ACTION", .offers = "set clear list", .takes_others = false},
                      .take = put<&Arguments::overriding, &OverrideArguments::action>},
                     {.word = {.name = "CONSUMER", .names = kConsumers},
                      .take = put<&Arguments::overriding, &OverrideArguments::consumer>}},
        .options = rule_options(),
        .check = check_override,
        .run = run_override};
}

}  // namespace gpuprobe::inline cli
