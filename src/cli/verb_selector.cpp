// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "cli/verb.h"
#include "cli/verb_recommend.h"
#include "explain/phrase.h"
#include "export/selector.h"

namespace gpuprobe::inline cli {
namespace {

/// The architecture that is used without --platform.
constexpr std::string_view kUsualArch = "x86_64";

std::string platform_names(const Manifest& manifest) {
    std::string names;
    for (const auto& platform : manifest.platforms)
        names += (names.empty() ? "" : ", ") + platform.key;
    return names;
}

/// The platform `name` in the manifest. If `name` is empty, returns the x86_64 platform with a C
/// library other than musl.
Result<const VariantPlatform*> platform_of(const Manifest& manifest, const std::string& name) {
    const auto found =
        std::ranges::find_if(manifest.platforms, [&name](const VariantPlatform& platform) {
            return name.empty() ? platform.arch == kUsualArch && platform.libc != "musl"
                                : platform.key == name;
        });
    if (found == manifest.platforms.end())
        return Error{ErrorCode::InvalidRequest,
                     phrase("{application} has no platform {name}; its platforms are {names}",
                            {{"application", scrubbed(manifest.name, 64)},
                             {"name", name.empty() ? std::string{kUsualArch} : scrubbed(name, 64)},
                             {"names", platform_names(manifest)}})};
    return &*found;
}

/// The named variant. Errors: InvalidRequest, listing the variants.
Result<const Variant*> variant_of(const VariantPlatform& platform, const std::string& name) {
    if (const auto* variant = find_variant(platform, name))
        return variant;
    std::string names;
    for (const auto& variant : platform.variants)
        names += (names.empty() ? "" : ", ") + variant.name;
    return Error{
        ErrorCode::InvalidRequest,
        phrase("{platform} has no variant '{name}'; its variants are {names}",
               {{"name", scrubbed(name, 64)}, {"platform", platform.key}, {"names", names}})};
}

/// The query for --verdict: it matches machines that exported the verdict that the variant runs.
/// Errors: NoMatch if the orchestrator has no verdicts, or if the name of the application or
/// variant can't be part of a verdict.
Result<FleetQuery> verdict_query(const Orchestrator& asked,
                                 const Manifest& manifest,
                                 const Variant& variant) {
    if (!is_fleet_name(manifest.name) || !is_fleet_name(variant.name))
        return Error{ErrorCode::NoMatch,
                     "no export includes a verdict for a variant with this name"};
    return FleetQuery{.text = asked.ask_verdict(manifest.name, variant.name)};
}

/// The query, based on the variant's needs or on exported verdicts.
Result<FleetQuery> query_of(const Arguments& arguments) {
    const auto& fleet = arguments.fleet;
    const auto& asked = *orchestrator(fleet.orchestrator);
    const auto manifest = TRY(wanted_manifest(arguments));
    const auto& platform = *TRY(platform_of(manifest, fleet.platform));
    const auto& variant = *TRY(variant_of(platform, fleet.variant));
    if (fleet.by_verdict || !asked.ask)
        return verdict_query(asked, manifest, variant);
    const auto rules = TRY(Rules::builtin());
    auto need = fleet_need_of(platform, variant, rules);
    if (!need)
        return std::move(need).error().in(variant.name);
    return asked.ask(*need, rules, fleet.features);
}

/// The messages of the remarks as a JSON array.
Value texts_of(const std::vector<ExportRemark>& remarks) {
    Value::Array list;
    for (const auto& remark : remarks)
        list.emplace_back(scrubbed(remark.text, 512));
    return Value{std::move(list)};
}

/// Prints the query as JSON; null if the query would be weaker than allowed.
void print_query(const Arguments& arguments, const FleetQuery& query, bool is_given) {
    Value document{Value::Object{}};
    document["orchestrator"] = arguments.fleet.orchestrator;
    document["query"] = is_given ? Value{query.text} : Value{};
    document["weaker"] = texts_of(query.weaker);
    document["stronger"] = texts_of(query.stronger);
    print_json(arguments, document);
}

/// Explains on standard error how the query differs from the variant's needs.
void explain_differences(const Arguments& arguments, const FleetQuery& query, bool is_given) {
    for (const auto& weaker : query.weaker)
        remark(arguments,
               phrase(is_given ? "not in the query: {what}" : "cannot be expressed: {what}",
                      {{"what", scrubbed(weaker.text, 512)}}));
    for (const auto& stronger : query.stronger)
        remark(arguments, phrase("excluded: {what}", {{"what", scrubbed(stronger.text, 512)}}));
    if (is_given)
        return;
    remark(arguments,
           "add --allow-weaker to omit the requirement, or --verdict to select machines by their "
           "exported verdicts");
}

/// Prints the query, unless the orchestrator can't express a need and --allow-weaker wasn't given.
Result<ExitCode> run_selector(const Arguments& arguments) {
    const auto query = TRY(query_of(arguments));
    const bool is_given = query.weaker.empty() || arguments.fleet.allows_weaker;
    if (arguments.json != JsonMode::Off) {
        print_query(arguments, query, is_given);
    } else {
        if (is_given)
            print(query.text);
        explain_differences(arguments, query, is_given);
    }
    return is_given ? ExitCode::Answered : ExitCode::NoMatch;
}

Status check_selector(Arguments& arguments) {
    const auto& fleet = arguments.fleet;
    if (fleet.orchestrator.empty())
        return refusal("selector: missing --orchestrator=NAME");
    if (arguments.recommend.application.empty() || fleet.variant.empty())
        return refusal("selector: missing APPLICATION or VARIANT");
    if (!fleet.features.empty() && fleet.orchestrator != "slurm")
        return refusal("--features requires --orchestrator=slurm");
    return Done{};
}

/// Reads the features of all nodes: words separated by commas, lines or spaces. Duplicates are
/// removed.
Status take_features(Arguments& arguments, const std::string& word) {
    std::string text{word};
    std::ranges::replace_if(
        text, [](char character) { return character == '\n' || character == ' '; }, ',');
    const auto items = comma_list(text);
    const std::set<std::string> once{items.begin(), items.end()};
    arguments.fleet.features.assign(once.begin(), once.end());
    return Done{};
}

/// All orchestrators, separated by spaces.
const std::string& orchestrator_names() {
    static const std::string names = [] {
        std::string text;
        for (const auto& one : orchestrators())
            text += fmt::format("{}{}", text.empty() ? "" : " ", one.name);
        return text;
    }();
    return names;
}

/// The text of the help page, with a line for each orchestrator.
const std::string& about_selector() {
    static const std::string page = [] {
        std::string text = R"(
Prints the query with which an orchestrator finds the machines that can run VARIANT of APPLICATION:

)";
        for (const auto& one : orchestrators())
            text += fmt::format("  {:<8} {}\n", one.name, one.summary);
        return text + R"(
The exit status is 3 if the orchestrator cannot express one of the variant's requirements. If the query
must be stricter than the requirement, selector prints a remark on standard error.
)";
    }();
    return page;
}

std::vector<Option> selector_options() {
    return {{.names = "--orchestrator",
             .value = {.name = "NAME", .offers = orchestrator_names(), .takes_others = false},
             .help = "the orchestrator for the query",
             .take = put<&Arguments::fleet, &FleetArguments::orchestrator>},
            {.names = "--allow-weaker",
             .help = "omit requirements that the orchestrator cannot express, and list the "
                     "omitted requirements",
             .take = put<&Arguments::fleet, &FleetArguments::allows_weaker>},
            {.names = "--verdict",
             .help = "match on the verdict that each node exported for APPLICATION",
             .take = put<&Arguments::fleet, &FleetArguments::by_verdict>},
            {.names = "--features",
             .value = {.name = "LIST", .is_list = true},
             .help = "slurm: the features of the cluster, as sinfo -h -o %f prints them",
             .take = take_features},
            {.names = "--platform",
             .value = {.name = "NAME"},
             .help = "platform of the manifest (default: x86_64)",
             .take = put<&Arguments::fleet, &FleetArguments::platform>},
            {.names = "--manifest",
             .value = {.name = "FILE", .names = kFiles},
             .help = "manifest with the variants of APPLICATION",
             .take = put<&Arguments::recommend, &RecommendArguments::manifest>}};
}

}  // namespace

Verb selector_verb() {
    return {.name = "selector",
            .group = VerbGroup::Advanced,
            .overview = {{"selector VARIANT",
                          "print a query for the machines of a fleet that can run a variant"}},
            .usage = {"selector APPLICATION VARIANT --orchestrator=NAME [OPTION…]"},
            .about = about_selector(),
            .operands = {{.word = {.name = "APPLICATION", .names = kManifests},
                          .take = put<&Arguments::recommend, &RecommendArguments::application>},
                         {.word = {.name = "VARIANT"},
                          .take = put<&Arguments::fleet, &FleetArguments::variant>}},
            .options = selector_options(),
            .check = check_selector,
            .run_alone = run_selector};
}

}  // namespace gpuprobe::inline cli
