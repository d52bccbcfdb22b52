// SPDX-License-Identifier: Apache-2.0
#include "cli/arguments.h"

#include <algorithm>
#include <map>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "base/parse.h"
#include "base/record.h"
#include "base/size.h"
#include "cli/help.h"
#include "cli/plan_arguments.h"
#include "cli/suggestion.h"

namespace gpuprobe {
namespace {

/// What CLI11 fills; turned into Arguments once the whole line has been read.
struct Raw {
    std::string json = "off";
    std::string colour = "auto";
    std::optional<std::string> consumer = {};
    std::optional<std::string> built = {};
    std::string prefer = {};
    std::string only = {};
    std::string deny = {};
    std::string exclude = {};
    std::string only_gpus = {};
    std::string require = {};
    std::string fake = {};
    std::string apis = {};
    std::string min_memory = {};
    PlanWords plan = {};
    bool is_json = false;
    bool no_legend = false;
    bool no_cache = false;
    bool no_pager = false;
    bool wants_help = false;
    bool wants_version = false;
};

std::vector<std::string> comma_list(std::string_view text) {
    std::vector<std::string> items;
    for (const auto item : split(text, ','))
        if (!trimmed(item).empty())
            items.emplace_back(trimmed(item));
    return items;
}

void add_global_options(CLI::App& app, Arguments& arguments, Raw& raw) {
    app.add_option("--json", raw.json)->check(CLI::IsMember({"pretty", "short", "off"}));
    app.add_flag("-j", raw.is_json);
    app.add_option("--color,--colour", raw.colour)
        ->check(CLI::IsMember({"auto", "always", "never"}));
    app.add_flag("--no-legend", raw.no_legend);
    app.add_flag("--no-pager", raw.no_pager);
    app.add_flag("-q,--quiet", arguments.is_quiet);
    app.add_option("--bus", arguments.bus);
    app.add_flag("--direct", arguments.is_direct);
    app.add_option("--replay", arguments.replay);
    app.add_option("--worker", arguments.worker);
    app.add_option("--profiles", arguments.profile_folders);
    app.add_flag("--no-cache", raw.no_cache);
    app.add_flag("-h,--help", raw.wants_help);
    app.add_flag("--version", raw.wants_version);
}

/// What a request and an override have in common.
void add_rule_options(CLI::App& verb, Arguments& arguments, Raw& raw) {
    auto& select = arguments.select;
    verb.add_option("--prefer", raw.prefer);
    verb.add_option("--only", raw.only);
    verb.add_option("--deny", raw.deny);
    verb.add_option("--gpu", raw.only_gpus);
    verb.add_option("--backend", select.backend);
    verb.add_option("--min-memory", raw.min_memory);
    verb.add_flag("--strict", select.strict);
}

void add_select_options(CLI::App& verb, Arguments& arguments, Raw& raw) {
    auto& select = arguments.select;
    verb.add_option("CONSUMER", raw.consumer);
    verb.add_option("--built", raw.built);
    verb.add_option("--require", raw.require);
    verb.add_option("--platform", select.platform);
    verb.add_option("--fake", raw.fake);
    verb.add_flag("--forbid-fake", select.forbids_fake);
    verb.add_flag("--any-vendor", select.any_vendor);
    verb.add_flag("--no-rejected", select.hides_rejected);
    verb.add_flag("--explain", select.explain);
    add_rule_options(verb, arguments, raw);
}

/// What recommend and export ask about variants.
void add_variant_options(CLI::App& verb, Arguments& arguments, Raw& raw) {
    auto& recommend = arguments.recommend;
    verb.add_option("--manifest", recommend.manifest);
    verb.add_option("--prefer", raw.prefer);
    verb.add_option("--only", raw.only);
    verb.add_option("--exclude", raw.exclude);
    verb.add_option("--need-mib", recommend.need_mib);
}

void add_variant_verbs(const std::string& name, CLI::App& verb, Arguments& arguments, Raw& raw) {
    auto& recommend = arguments.recommend;
    if (name == "recommend") {
        verb.add_option("PRODUCT", recommend.product);
        add_variant_options(verb, arguments, raw);
        verb.add_flag("--chain", recommend.chain);
        verb.add_flag("--explain", arguments.select.explain);
        verb.add_option("--force", recommend.force);
    }
    if (name == "export") {
        verb.add_option("FORMAT", recommend.format)
            ->check(CLI::IsMember({"conda", "uv", "wheel", "pip", "ggml", "container"}));
        verb.add_option("PRODUCT", recommend.product);
        add_variant_options(verb, arguments, raw);
    }
    if (name == "verify") {
        verb.add_option("FILE", recommend.file);
        verb.add_option("--manifest", recommend.manifest);
        verb.add_option("--variant", recommend.variant);
    }
    if (name == "import-manifest") {
        verb.add_option("FILE", recommend.file);
        verb.add_option("--format", recommend.format)
            ->check(CLI::IsMember({"github", "unsloth", "localai"}));
        verb.add_option("--overlay", recommend.overlay);
        verb.add_option("--entry", recommend.entry);
    }
}

void add_override_options(CLI::App& verb, Arguments& arguments, Raw& raw) {
    verb.add_option("ACTION", arguments.overriding.action)
        ->check(CLI::IsMember({"set", "clear", "list"}));
    verb.add_option("CONSUMER", arguments.overriding.consumer);
    add_rule_options(verb, arguments, raw);
}

void add_quarantine_options(CLI::App& verb, Arguments& arguments) {
    auto& quarantine = arguments.quarantine;
    verb.add_option("ACTION", quarantine.action)->check(CLI::IsMember({"clear", "list"}));
    verb.add_option("API", quarantine.api);
    verb.add_option("--driver", quarantine.driver);
    verb.add_flag("--all", quarantine.is_all);
}

void add_outcome_options(CLI::App& verb, Arguments& arguments, Raw& raw) {
    auto& outcome = arguments.outcome;
    verb.add_option("CONSUMER", arguments.select.consumer);
    verb.add_option("RESULT", outcome.result)->check(CLI::IsMember({"ok", "failed"}));
    verb.add_option("--backend", arguments.select.backend);
    verb.add_option("--variant", outcome.variant);
    verb.add_option("--family", outcome.family);
    verb.add_option("--gpu", raw.only_gpus);
    verb.add_option("--detail", outcome.detail);
}

void add_verbs(CLI::App& app, Arguments& arguments, Raw& raw) {
    for (const auto& name : verb_names()) {
        auto& verb = *app.add_subcommand(name);
        verb.set_help_flag();
        verb.fallthrough();
        if (name == "show" || name == "probe")
            verb.add_option("GPU", arguments.gpus)->expected(0, -1);
        if (name == "describe")
            verb.add_option("GPU", arguments.gpus)->expected(0, 1);
        if (name == "select" || name == "env")
            add_select_options(verb, arguments, raw);
        if (name == "env")
            verb.add_flag("--build", arguments.select.for_build);
        add_variant_verbs(name, verb, arguments, raw);
        if (name == "override")
            add_override_options(verb, arguments, raw);
        if (name == "report-outcome")
            add_outcome_options(verb, arguments, raw);
        if (name == "quarantine")
            add_quarantine_options(verb, arguments);
        if (name == "env")
            verb.add_flag("--all", arguments.shows_all);
        if (name == "capture") {
            verb.add_option("DIR", arguments.capture_folder);
            verb.add_flag("--redact", arguments.redacts);
        }
        if (name == "plan") {
            verb.add_option("--gguf", arguments.plan.model_file);
            verb.add_flag("--beginning", arguments.plan.is_beginning);
            verb.add_option("--need-mib", raw.plan.need_mib);
            verb.add_option("--ctx", raw.plan.context);
            verb.add_option("--batch", raw.plan.batch);
            verb.add_option("--streams", raw.plan.streams);
            verb.add_option("--kv", raw.plan.cache_types);
            verb.add_option("--gpus", raw.plan.gpus);
            verb.add_option("--margin-mib", raw.plan.margin_mib);
        }
        if (name == "doctor")
            verb.add_flag("--strict", arguments.warnings_count);
        if (name == "help")
            verb.add_option("VERB", arguments.topic);
        if (name == "probe") {
            verb.add_option("--api", raw.apis);
            verb.add_flag("--allow-wake", arguments.allow_wake);
        }
    }
}

Parsed refused(std::string_view problem, std::string_view hint) {
    return {.refusal = Refusal{.text = fmt::format("gpuprobectl: {}\n{}\n", problem, hint)}};
}

/// "--jsno" could be "--json": the options of the help text are the ones there are.
std::string advice(const std::string& word, std::string_view verb) {
    const bool is_option = word.starts_with("-");
    const auto near =
        closest(word.substr(0, word.find('=')), is_option ? option_names() : verb_names());
    if (near && is_option && *near == word.substr(0, word.find('=')))
        return fmt::format("'{}' goes behind the verb that it belongs to; see 'gpuprobectl help'.",
                           *near);
    if (near)
        return fmt::format("Did you mean '{}'?", *near);
    return verb.empty() || !is_option ? "See 'gpuprobectl help'."
                                      : fmt::format("See 'gpuprobectl help {}'.", verb);
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
        return refused(fmt::format("{}: unexpected '{}'", verb, word),
                       fmt::format("See 'gpuprobectl help {}'.", verb));
    return refused(fmt::format("unknown verb '{}'", word), advice(word, verb));
}

/// What is missing of what is about variants. Empty when all is there.
std::string missing_about_variants(const Arguments& arguments) {
    const auto& recommend = arguments.recommend;
    if (arguments.verb == "recommend" && recommend.product.empty() && !recommend.manifest)
        return "recommend: which product? 'gpuprobectl products' lists those that are known";
    if (arguments.verb == "export" && recommend.format.empty())
        return "export: in which form? conda, uv, wheel, pip, ggml or container";
    if (arguments.verb == "verify" &&
        (!recommend.file || !recommend.manifest || !recommend.variant))
        return "verify: FILE, --manifest and --variant are needed";
    if (arguments.verb == "import-manifest" &&
        (!recommend.file || recommend.format.empty() ||
         (recommend.format != "localai" && !recommend.overlay)))
        return "import-manifest: FILE, --format and --overlay are needed: names alone do not say "
               "what a build needs";
    if (recommend.format == "localai" && recommend.overlay)
        return "--overlay is for github and unsloth: LocalAI's list says itself what builds need";
    if (!recommend.entry.empty() && recommend.format != "localai")
        return "--entry is for --format=localai";
    return "";
}

/// What has to be there or makes no sense together. Empty when all is well.
std::string contradiction(const Arguments& arguments) {
    if (arguments.bus && (arguments.is_direct || arguments.replay))
        return "--bus asks a daemon and --direct or --replay does not: give one of them";
    if (arguments.verb == "capture" && !arguments.capture_folder)
        return "capture: into which folder?";
    if (arguments.capture_folder && arguments.bus)
        return "capture reads this machine itself: leave --bus out";
    if (arguments.verb == "override" && arguments.overriding.action != "list" &&
        !arguments.overriding.consumer)
        return "override: for which consumer? 'gpuprobectl consumers' lists them";
    const auto& quarantine = arguments.quarantine;
    const bool names_one = quarantine.api || quarantine.driver;
    if (quarantine.action == "clear" && quarantine.is_all == names_one)
        return "quarantine: clear which? An API, --driver, or --all alone";
    if (arguments.verb == "report-outcome" && arguments.outcome.result.empty())
        return "report-outcome: CONSUMER and RESULT are needed";
    if (arguments.verb == "report-outcome" && arguments.select.gpus.size() > 1)
        return "report-outcome: one GPU, or none for all";
    if (const auto missing = missing_about_variants(arguments); !missing.empty())
        return missing;
    if (arguments.verb == "show" && arguments.gpus.empty())
        return "show: which GPU? 'gpuprobectl list' shows them";
    if (arguments.shows_all && !arguments.select.names_consumer)
        return "env: --all shows every way to name a GPU: which one?";
    return "";
}

JsonMode json_mode(const Raw& raw, bool is_terminal) {
    if (raw.json != "off")
        return raw.json == "pretty" ? JsonMode::Pretty : JsonMode::Short;
    if (raw.is_json)
        return is_terminal ? JsonMode::Pretty : JsonMode::Short;
    return JsonMode::Off;
}

ColourMode colour_mode(std::string_view word) {
    if (word == "always")
        return ColourMode::Always;
    return word == "never" ? ColourMode::Never : ColourMode::Auto;
}

Parsed finished(Arguments arguments, const Raw& raw, bool is_terminal) {
    arguments.json = json_mode(raw, is_terminal);
    arguments.colour = colour_mode(raw.colour);
    arguments.has_legend = !raw.no_legend;
    arguments.has_cache = !raw.no_cache;
    arguments.apis = comma_list(raw.apis);
    arguments.select.prefer = comma_list(raw.prefer);
    arguments.select.only = comma_list(raw.only);
    arguments.select.deny = comma_list(raw.deny);
    arguments.recommend.exclude = comma_list(raw.exclude);
    arguments.select.gpus = comma_list(raw.only_gpus);
    if (raw.consumer)
        arguments.select.consumer = *raw.consumer;
    arguments.select.names_consumer = raw.consumer.has_value();
    arguments.select.require = comma_list(raw.require);
    arguments.select.fake = comma_list(raw.fake);
    if (raw.built)
        arguments.select.built = comma_list(*raw.built);
    if (raw.wants_version)
        arguments.verb = "version";
    if (!raw.min_memory.empty()) {
        arguments.select.min_memory = parse_size(raw.min_memory);
        if (!arguments.select.min_memory)
            return refused(fmt::format("--min-memory: '{}' is not a size", raw.min_memory),
                           "Write it like 8GiB, 8192MiB, 8GB or a number of bytes.");
    }
    if (arguments.verb == "plan")
        if (const auto read = read_plan_words(raw.plan, arguments.plan); !read)
            return refused("plan: " + read.error().text, "See 'gpuprobectl help plan'.");
    if (const auto problem = contradiction(arguments); !problem.empty())
        return refused(problem, fmt::format("See 'gpuprobectl help {}'.", arguments.verb));
    return {.arguments = std::move(arguments)};
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

}  // namespace

const std::vector<std::string>& verb_names() {
    static const std::vector<std::string> names{
        "status",     "list",      "show",    "describe", "select",          "env",
        "recommend",  "export",    "verify",  "products", "import-manifest", "plan",
        "probe",      "monitor",   "doctor",  "capture",  "override",        "report-outcome",
        "quarantine", "consumers", "version", "help"};
    return names;
}

Parsed parse_arguments(const std::vector<std::string>& words, bool is_terminal) {
    Arguments arguments;
    Raw raw;
    CLI::App app;
    app.set_help_flag();
    app.require_subcommand(0, 1);
    add_global_options(app, arguments, raw);
    add_verbs(app, arguments, raw);
    try {
        app.parse(reversed(words));
    } catch (const CLI::ExtrasError&) {
        return unexpected(app);
    } catch (const CLI::ParseError& problem) {
        return refused(scrubbed(problem.what()), "See 'gpuprobectl help'.");
    }
    const auto verb = chosen_verb(app);
    if (raw.wants_help || verb == "help") {
        const auto topic = arguments.topic.value_or(verb == "help" ? "" : verb);
        if (const auto text = help_text(topic))
            return {.refusal = Refusal{.is_help = true, .text = *text}};
        return refused(fmt::format("no help on '{}'", scrubbed(topic, 64)), advice(topic, ""));
    }
    arguments.verb = verb.empty() ? "status" : verb;
    return finished(std::move(arguments), raw, is_terminal);
}

Value variant_request_of(const Arguments& arguments) {
    Value request{Value::Object{}};
    if (!arguments.select.prefer.empty())
        request["prefer"] = to_value(arguments.select.prefer);
    if (!arguments.select.only.empty())
        request["only"] = to_value(arguments.select.only);
    if (!arguments.recommend.exclude.empty())
        request["exclude"] = to_value(arguments.recommend.exclude);
    if (arguments.recommend.need_mib)
        request["need-mib"] = to_value(*arguments.recommend.need_mib);
    return request;
}

Value request_of(const SelectArguments& arguments) {
    Value request{Value::Object{}};
    if (arguments.built)
        request["built"] = to_value(*arguments.built);
    if (!arguments.prefer.empty())
        request["prefer"] = to_value(arguments.prefer);
    if (!arguments.only.empty())
        request["only"] = to_value(arguments.only);
    if (!arguments.gpus.empty())
        request["gpus"] = to_value(arguments.gpus);
    if (!arguments.deny.empty())
        request["deny"] = to_value(arguments.deny);
    if (arguments.backend)
        request["backend"] = *arguments.backend;
    if (!arguments.require.empty())
        request["require"] = to_value(arguments.require);
    if (arguments.platform)
        request["platform"] = *arguments.platform;
    if (!arguments.fake.empty())
        request["fake"] = to_value(arguments.fake);
    if (arguments.forbids_fake)
        request["forbid-fake"] = true;
    if (arguments.any_vendor)
        request["any-vendor"] = true;
    if (arguments.hides_rejected)
        request["include-rejected"] = false;
    if (arguments.strict)
        request["strict"] = true;
    if (arguments.min_memory)
        request["min-memory"] = to_value(*arguments.min_memory);
    return request;
}

}  // namespace gpuprobe
