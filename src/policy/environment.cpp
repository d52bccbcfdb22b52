// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <algorithm>

#include "report/api_table.h"

namespace gpuprobe::inline policy {
namespace {

constexpr char kAnswerMark = '=';  // "{=capability}"

/// The rule with its facts; nullopt if one is unknown, since a rule applies completely or not at
/// all.
template <class Lookup>
std::optional<Variables> filled_by(const EnvironmentRule& rule, const Lookup& fact) {
    Variables variables;
    for (const auto& [variable, text] : rule) {
        auto value = filled_template(text, fact);
        if (!value)
            return std::nullopt;
        variables.emplace(variable, std::move(*value));
    }
    return variables;
}

/// Whether the environment already sets a variable of the rule.
bool sets_any_of(const Variables& environment, const EnvironmentRule& rule) {
    return std::ranges::any_of(
        rule, [&](const auto& entry) { return environment.contains(entry.first); });
}

/// The variables from the profile's rules for the backend; each rule applies completely or not at
/// all.
Variables own_rules(const Profile& profile,
                    std::string_view backend,
                    const Selection& selection,
                    const Variables& answers) {
    Variables environment;
    const auto rules = profile.environment.find(std::string{backend});
    if (rules == profile.environment.end())
        return environment;
    // "=NAME" refers to an answer, any other name to a selector fact.
    const auto fact = [&](std::string_view name) -> std::optional<std::string> {
        if (!name.starts_with(kAnswerMark))
            return selector_fact(name, selection);
        const auto answer = answers.find(std::string{name.substr(1)});
        return answer == answers.end() ? std::nullopt : std::optional{answer->second};
    };
    // Earlier rules take precedence.
    for (const auto& rule : rules->second)
        if (!sets_any_of(environment, rule))
            if (auto variables = filled_by(rule, fact))
                environment.merge(*variables);
    return environment;
}

/// Whether the application reads every variable of the rule.
bool can_read(const std::set<std::string, std::less<>>& variables, const EnvironmentRule& rule) {
    return std::ranges::all_of(rule,
                               [&](const auto& entry) { return variables.contains(entry.first); });
}

/// Adds the best row that selects the GPUs through the API, for an application that reads these
/// variables. Adds nothing if some of them are already set.
void use(std::string_view api,
         const std::set<std::string, std::less<>>& variables,
         const Selection& selection,
         Variables& environment) {
    for (const auto& row : knowledge::Selectors::current().uses()) {
        if (row.api != api || row.variables.empty() || !can_read(variables, row.variables) ||
            !can_read(variables, row.environment))
            continue;
        // A rule of the profile has already selected the GPUs.
        if (sets_any_of(environment, row.variables))
            return;
        auto selects = filled(row.variables, selection);
        auto beside = filled(row.environment, selection);
        // A fact is unknown for this selection, or a variable is in use: try the next row.
        if (!selects || !beside || sets_any_of(environment, *beside))
            continue;
        environment.merge(*selects);
        environment.merge(*beside);
        return;
    }
}

/// Whether hiding every device in the reader's API would also hide the selected GPUs in `api`.
bool reaches_selection(const knowledge::Reader& reader,
                       std::string_view api,
                       const Selection& selection) {
    const auto* own = find_api(reader.api);
    return own && std::ranges::find(reader.reaches, api) != reader.reaches.end() &&
           std::ranges::any_of(selection.gpus,
                               [own](const Gpu* gpu) { return gpu->vendor == own->vendor; });
}

/// Hides the devices of all other APIs that the application reads. APIs whose variables also affect
/// `api` select the GPUs instead.
void hide_others(const Reach& reach,
                 std::string_view api,
                 const Selection& selection,
                 Variables& environment) {
    for (const auto* reader : reach.readers) {
        if (reader->api == api)
            continue;
        if (reaches_selection(*reader, api, selection))
            use(reader->api, {reader->reads.begin(), reader->reads.end()}, selection, environment);
        else
            environment.insert(reader->hide.begin(), reader->hide.end());
    }
}

/// Adds a reader and the variables that it reads.
void add_reader(const knowledge::Reader& reader, Reach& reach) {
    reach.readers.push_back(&reader);
    reach.variables.insert(reader.reads.begin(), reader.reads.end());
}

/// Whether the profile implies the reader because a backend uses its library. Readers named
/// "ggml-…" also need a variable that the profile names or sets.
bool is_implied(const knowledge::Reader& reader, const Profile& profile, const Reach& reach) {
    const bool has_api = std::ranges::any_of(profile.backends, [&](const std::string& backend) {
        return api_below(backend) == reader.api;
    });
    const bool is_library = !reader.name.starts_with("ggml-");
    return has_api && (is_library || reach.variables.contains(reader.reads.front()));
}

}  // namespace

std::optional<std::string> filled(std::string_view text, const Selection& selection) {
    return filled_template(
        text, [&selection](std::string_view name) { return selector_fact(name, selection); });
}

std::optional<Variables> filled(const EnvironmentRule& rule, const Selection& selection) {
    return filled_by(
        rule, [&selection](std::string_view name) { return selector_fact(name, selection); });
}

Reach reach_of(const Profile& profile) {
    Reach reach;
    const auto& document = knowledge::Selectors::current();
    // Forwarded variables count as read, because a container or child reads them.
    reach.variables.insert(profile.forwards.begin(), profile.forwards.end());
    if (profile.reads) {
        for (const auto& word : *profile.reads)
            if (const auto* reader = document.find(word))
                add_reader(*reader, reach);
            else
                reach.variables.insert(word);
        return reach;
    }
    for (const auto& [backend, rules] : profile.environment)
        for (const auto& rule : rules)
            for (const auto& [variable, text] : rule)
                reach.variables.insert(variable);
    // ggml's readers depend only on variables from the profile, not on other implied readers.
    const auto named = reach;
    for (const auto& reader : document.readers())
        if (is_implied(reader, profile, named))
            add_reader(reader, reach);
    return reach;
}

bool is_environment_fact(const Profile& profile, std::string_view name) {
    return name.starts_with(kAnswerMark) ? profile.answers.contains(std::string{name.substr(1)})
                                         : is_selector_fact(name);
}

Variables environment_of(const Profile& profile,
                         std::string_view backend,
                         const Selection& selection,
                         const Variables& answers) {
    const auto reach = reach_of(profile);
    const auto api = api_below(backend);
    auto environment = own_rules(profile, backend, selection, answers);
    if (!api.empty() && !selection.gpus.empty())
        use(api, reach.variables, selection, environment);
    hide_others(reach, api, selection, environment);
    return environment;
}

}  // namespace gpuprobe::inline policy
