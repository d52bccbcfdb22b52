// SPDX-License-Identifier: Apache-2.0
#include "policy/environment.h"

#include <algorithm>

#include "report/api_table.h"

namespace gpuprobe::inline policy {
namespace {

constexpr char kAnswerMark = '=';  // "{=capability}"

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

bool sets_any_of(const Variables& environment, const EnvironmentRule& rule) {
    return std::ranges::any_of(
        rule, [&](const auto& entry) { return environment.contains(entry.first); });
}

/// The profile's own rules for the backend, each whole or not at all.
Variables own_rules(const Profile& profile,
                    std::string_view backend,
                    const Selection& selection,
                    const Variables& answers) {
    Variables environment;
    const auto rules = profile.environment.find(std::string{backend});
    if (rules == profile.environment.end())
        return environment;
    const auto fact = [&](std::string_view name) -> std::optional<std::string> {
        if (!name.starts_with(kAnswerMark))
            return selector_fact(name, selection);
        const auto answer = answers.find(std::string{name.substr(1)});
        return answer == answers.end() ? std::nullopt : std::optional{answer->second};
    };
    for (const auto& rule : rules->second)
        if (!sets_any_of(environment, rule))
            if (auto variables = filled_by(rule, fact))
                environment.merge(*variables);
    return environment;
}

bool can_read(const std::set<std::string, std::less<>>& variables, const EnvironmentRule& rule) {
    return std::ranges::all_of(rule,
                               [&](const auto& entry) { return variables.contains(entry.first); });
}

/// The best way to use the selected GPUs through the API, for whoever reads these variables;
/// nothing when some of them are set already.
void use(std::string_view api,
         const std::set<std::string, std::less<>>& variables,
         const Selection& selection,
         Variables& environment) {
    for (const auto& row : knowledge::Selectors::current().uses()) {
        if (row.api != api || row.variables.empty() || !can_read(variables, row.variables) ||
            !can_read(variables, row.environment))
            continue;
        if (sets_any_of(environment, row.variables))
            return;
        auto selects = filled(row.variables, selection);
        auto beside = filled(row.environment, selection);
        if (!selects || !beside || sets_any_of(environment, *beside))
            continue;
        environment.merge(*selects);
        environment.merge(*beside);
        return;
    }
}

/// Whether hiding all of the reader's devices would hide the selected GPUs in `api` too.
bool reaches_selection(const knowledge::Reader& reader,
                       std::string_view api,
                       const Selection& selection) {
    const auto* own = find_api(reader.api);
    return own && std::ranges::find(reader.reaches, api) != reader.reaches.end() &&
           std::ranges::any_of(selection.gpus,
                               [own](const Gpu* gpu) { return gpu->vendor == own->vendor; });
}

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

void add_reader(const knowledge::Reader& reader, Reach& reach) {
    reach.readers.push_back(&reader);
    reach.variables.insert(reader.reads.begin(), reader.reads.end());
}

/// A library's name; those of ggml are for programs that say so, or set one of its variables.
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
