// SPDX-License-Identifier: Apache-2.0
#include "decide/profile.h"

#include <algorithm>
#include <set>

#include "base/parse.h"
#include "base/value_json.h"
#include "decide/backend_words.h"
#include "decide/environment.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxDescription = 1024;
constexpr std::size_t kMaxVendors = 32;
constexpr std::size_t kMaxRules = 16;
constexpr std::size_t kMaxVariables = 16;
constexpr std::size_t kMaxTemplate = 256;

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

bool consists_of(std::string_view text, std::initializer_list<std::string_view> alphabets) {
    return std::ranges::all_of(text, [alphabets](char c) {
        return std::ranges::any_of(
            alphabets, [c](std::string_view set) { return set.find(c) != std::string_view::npos; });
    });
}

/// Lower-case letters, digits and "-._", beginning with a letter or digit.
bool is_word(std::string_view text) {
    return !text.empty() && text.size() <= kMaxWord &&
           consists_of(text, {kLower, kDigits, "-._"}) &&
           consists_of(text.substr(0, 1), {kLower, kDigits});
}

bool is_variable(std::string_view text) {
    return !text.empty() && text.size() <= kMaxWord &&
           consists_of(text, {kLower, kUpper, kDigits, "_"}) &&
           !consists_of(text.substr(0, 1), {kDigits});
}

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool contains(const std::vector<std::string>& words, std::string_view word) {
    return std::ranges::find(words, word) != words.end();
}

/// Every word a backend of `allowed`, none twice.
ReadProblem backends_problem(const std::vector<std::string>& words,
                             const std::vector<std::string>* allowed) {
    std::set<std::string_view> seen;
    for (const auto& word : words) {
        if (!is_backend(word))
            return scrubbed(word, kMaxWord) + ": no such backend";
        if (allowed && (word == kCpu || !contains(*allowed, word)))
            return word + ": none of this profile's GPU backends";
        if (!seen.insert(word).second)
            return word + ": named twice";
    }
    return {};
}

ReadProblem name_problem(const Profile& profile) {
    if (!is_word(profile.name))
        return ReadProblem{"expected lower-case letters, digits and -._, at most 64"}.in("name");
    if (profile.description.size() > kMaxDescription)
        return ReadProblem{"longer than 1024 bytes"}.in("description");
    return {};
}

ReadProblem order_problem(const Profile& profile) {
    if (profile.backends.empty())
        return ReadProblem{"empty"}.in("backends");
    if (auto problem = backends_problem(profile.backends, nullptr); !problem.empty())
        return std::move(problem).in("backends");
    const bool ends_with_cpu = profile.backends.back() == kCpu;
    if (!ends_with_cpu && contains(profile.backends, kCpu))
        return ReadProblem{"cpu comes last"}.in("backends");
    if (ends_with_cpu != (profile.cpu == CpuPolicy::Last))
        return ReadProblem{"\"last\" wants cpu in backends, \"forbid\" wants it out"}.in("cpu");
    return {};
}

ReadProblem vendors_problem(const Profile& profile) {
    if (profile.vendors.size() > kMaxVendors)
        return ReadProblem{"more than 32"}.in("vendors");
    for (const auto& [vendor, backends] : profile.vendors) {
        if (vendor != kAnyVendor && !is_word(vendor))
            return ReadProblem{scrubbed(vendor, kMaxWord) + ": no vendor"}.in("vendors");
        if (auto problem = backends_problem(backends, &profile.backends); !problem.empty())
            return std::move(problem).in(vendor).in("vendors");
    }
    return {};
}

ReadProblem translate_problem(const Profile& profile) {
    std::set<std::string_view> words;
    for (const auto& backend : profile.backends)
        if (!profile.translate.contains(backend))
            words.insert(backend);
    for (const auto& [backend, word] : profile.translate) {
        if (!contains(profile.backends, backend))
            return ReadProblem{scrubbed(backend, kMaxWord) + ": none of this profile's backends"}
                .in("translate");
        if (!is_word(word))
            return ReadProblem{"expected a lower-case word"}.in(backend).in("translate");
        if (!words.insert(word).second)
            return ReadProblem{"a name that another backend has"}.in(backend).in("translate");
    }
    return {};
}

ReadProblem rule_problem(const EnvironmentRule& rule) {
    if (rule.empty() || rule.size() > kMaxVariables)
        return "expected 1 to 16 variables";
    for (const auto& [variable, text] : rule) {
        if (!is_variable(variable))
            return scrubbed(variable, kMaxWord) + ": no name of a variable";
        if (text.size() > kMaxTemplate || !is_printable(text))
            return ReadProblem{"expected at most 256 printable characters"}.in(variable);
        if (auto problem = template_problem(text))
            return ReadProblem{std::move(*problem)}.in(variable);
    }
    return {};
}

ReadProblem environment_problem(const Profile& profile) {
    for (const auto& [backend, rules] : profile.environment) {
        if (!contains(profile.backends, backend))
            return ReadProblem{scrubbed(backend, kMaxWord) + ": none of this profile's backends"}
                .in("environment");
        if (rules.size() > kMaxRules)
            return ReadProblem{"more than 16 rules"}.in(backend).in("environment");
        for (std::size_t at = 0; at < rules.size(); ++at)
            if (auto problem = rule_problem(rules[at]); !problem.empty())
                return std::move(problem)
                    .in("[" + std::to_string(at) + "]")
                    .in(backend)
                    .in("environment");
    }
    return {};
}

ReadProblem problem_with(const Profile& profile) {
    if (profile.schema != 1)
        return ReadProblem{"not 1"}.in("schema");
    for (const auto check :
         {name_problem, order_problem, vendors_problem, translate_problem, environment_problem})
        if (auto problem = check(profile); !problem.empty())
            return problem;
    return {};
}

Error malformed(std::string_view text) {
    return Error{ErrorCode::Malformed, "profile: " + scrubbed(text)};
}

}  // namespace

Result<Profile> parse_profile(std::string_view json) {
    auto value = parse_json(json, kMaxProfileText);
    if (!value)
        return std::move(value).error().in("profile");
    auto profile = strict_record_from<Profile>(*value);
    if (!profile)
        return malformed(profile.error().text);
    if (const auto problem = problem_with(*profile); !problem.empty())
        return malformed(problem.text());
    return profile;
}

}  // namespace gpuprobe
