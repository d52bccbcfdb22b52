// SPDX-License-Identifier: Apache-2.0
#include "policy/profile.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/record.h"
#include "base/text.h"
#include "knowledge/selectors.h"
#include "policy/build_needs.h"
#include "policy/environment.h"
#include "policy/fact.h"
#include "policy/gpu_selection.h"
#include "policy/manifest.h"
#include "policy/manifest_reading.h"
#include "policy/profile_texts.h"
#include "policy/term.h"

namespace gpuprobe::inline policy {
namespace {

// The limits in docs/data-files.md. Sizes are in bytes; all other limits are numbers of entries.
constexpr std::size_t kMaxProfileWord = 64;
constexpr std::size_t kMaxBundles = 32;
constexpr std::size_t kMaxDescription = 1024;
constexpr std::size_t kMaxVendors = 32;
constexpr std::size_t kMaxProfileRules = 16;
constexpr std::size_t kMaxRuleVariables = 16;
constexpr std::size_t kMaxTemplate = 256;
constexpr std::size_t kMaxRequests = 64;
constexpr std::size_t kMaxReads = 64;
constexpr std::size_t kMaxProfilePlatforms = 32;
constexpr std::size_t kMaxAnswers = 32;
constexpr std::size_t kMaxMessages = 128;
constexpr std::size_t kMaxStatuses = 16;
// Higher exit statuses are reserved by the shell and by programs that run other programs.
constexpr int kMaxStatus = 125;

constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kUpper = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
constexpr std::string_view kDigits = "0123456789";

/// Whether every character of the string is in one of the alphabets.
bool consists_of(std::string_view text, std::initializer_list<std::string_view> alphabets) {
    return std::ranges::all_of(text, [alphabets](char c) {
        return std::ranges::any_of(
            alphabets, [c](std::string_view set) { return set.find(c) != std::string_view::npos; });
    });
}

/// Whether the string is a word of lower-case letters, digits and "-._" that begins with a letter
/// or digit.
bool is_word(std::string_view text) {
    return !text.empty() && text.size() <= kMaxProfileWord &&
           consists_of(text, {kLower, kDigits, "-._"}) &&
           consists_of(text.substr(0, 1), {kLower, kDigits});
}

/// Whether the string can be the name of a variable or of an answer.
bool is_profile_variable(std::string_view text) {
    return !text.empty() && text.size() <= kMaxProfileWord &&
           consists_of(text, {kLower, kUpper, kDigits, "_"}) &&
           !consists_of(text.substr(0, 1), {kDigits});
}

bool is_printable(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

/// The names of all backends.
std::vector<std::string> every_backend() {
    std::vector<std::string> backends;
    for (const auto& api : kApis)
        if (!api.backend.empty())
            backends.emplace_back(api.backend);
    return backends;
}

/// The error for a member that must name one of the profile's backends but does not.
ReadProblem no_backend_of(const Profile& profile, const std::string& member) {
    auto problem = unknown_word("not a backend of this application", profile.backends);
    problem.word = member;
    return std::move(problem).in(scrubbed(member, kMaxProfileWord));
}

/// The error in a list of backends, if a backend is unknown, listed twice, or not in `allowed`. If
/// `allowed` is null, any backend is allowed.
ReadProblem backends_problem(const std::vector<std::string>& words,
                             const std::vector<std::string>* allowed) {
    std::set<std::string_view> seen;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const auto& word = words[at];
        ReadProblem problem;
        if (!is_backend(word))
            problem = unknown_word(scrubbed(word, kMaxProfileWord) + ": no such backend",
                                   allowed ? *allowed : every_backend());
        else if (allowed && (word == kCpu || !contains(*allowed, word)))
            problem = word + ": not a GPU backend of this application";
        else if (!seen.insert(word).second)
            problem = word + ": named twice";
        if (!problem.empty())
            return std::move(problem).in("[" + std::to_string(at) + "]");
    }
    return {};
}

/// Each function below checks one member and returns the error, or an empty problem.
ReadProblem name_problem(const Profile& profile) {
    if (!is_word(profile.name))
        return ReadProblem{"expected at most 64 lower-case letters, digits and -._"}.in("name");
    if (profile.description.size() > kMaxDescription)
        return ReadProblem{"longer than 1024 bytes"}.in("description");
    auto problem = profile.source ? check_source(*profile.source) : ReadProblem{};
    return problem.empty() ? problem : std::move(problem).in("source");
}

ReadProblem order_problem(const Profile& profile) {
    if (profile.backends.empty())
        return ReadProblem{"empty"}.in("backends");
    if (auto problem = backends_problem(profile.backends, nullptr); !problem.empty())
        return std::move(problem).in("backends");
    const bool ends_with_cpu = profile.backends.back() == kCpu;
    if (!ends_with_cpu && contains(profile.backends, kCpu))
        return ReadProblem{"cpu must be the last backend"}.in("backends");
    if (ends_with_cpu != (profile.cpu == CpuPolicy::Last))
        return ReadProblem{
            "\"last\" requires cpu in backends; with \"forbid\", backends must not contain cpu"}
            .in("cpu");
    return {};
}

ReadProblem vendors_problem(const Profile& profile) {
    if (profile.vendors.size() > kMaxVendors)
        return ReadProblem{"more than 32 vendors"}.in("vendors");
    for (const auto& [vendor, backends] : profile.vendors) {
        if (vendor != kAnyVendor && !is_word(vendor))
            return ReadProblem{scrubbed(vendor, kMaxProfileWord) + ": not a vendor"}.in("vendors");
        if (auto problem = backends_problem(backends, &profile.backends); !problem.empty())
            return std::move(problem).in(vendor).in("vendors");
    }
    return {};
}

ReadProblem translate_problem(const Profile& profile) {
    // Names must be unique, and a backend without a translation keeps its own name.
    std::set<std::string_view> words;
    for (const auto& backend : profile.backends)
        if (!profile.translate.contains(backend))
            words.insert(backend);
    for (const auto& [backend, word] : profile.translate) {
        if (!contains(profile.backends, backend))
            return no_backend_of(profile, backend).in("translate");
        if (!is_word(word))
            return ReadProblem{"expected a lower-case word"}.in(backend).in("translate");
        if (!words.insert(word).second)
            return ReadProblem{"another backend has this name"}.in(backend).in("translate");
    }
    return {};
}

/// `reach` contains the variables that the rule may set; null if the profile does not declare its
/// variables.
ReadProblem rule_problem(const EnvironmentRule& rule,
                         const Profile& profile,
                         const Access* access) {
    if (rule.empty() || rule.size() > kMaxRuleVariables)
        return "expected 1 to 16 variables";
    for (const auto& [variable, text] : rule) {
        if (!is_profile_variable(variable))
            return scrubbed(variable, kMaxProfileWord) + ": not the name of a variable";
        // Variables that change how a program is loaded or run are forbidden.
        if (auto problem = knowledge::variable_problem(variable, profile.name))
            return variable + ": " + *problem;
        if (text.size() > kMaxTemplate || !is_printable(text))
            return ReadProblem{"expected at most 256 printable characters"}.in(variable);
        if (auto problem = template_problem(text, [&profile](std::string_view name) {
                return is_environment_fact(profile, name);
            }))
            return ReadProblem{std::move(*problem)}.in(variable);
        if (auto problem = knowledge::value_problem(variable, text))
            return ReadProblem{std::move(*problem)}.in(variable);
        if (access && !access->variables.contains(variable))
            return variable + ": missing from \"reads\" and \"forwards\"";
    }
    return {};
}

/// Checks the readers and variables in `reads`, which the program reads, and the variables in
/// `forwards`.
ReadProblem reads_problem(const Profile& profile) {
    const auto reads = profile.reads.value_or(std::vector<std::string>{});
    if (reads.size() > kMaxReads || profile.forwards.size() > kMaxReads)
        return ReadProblem{"more than 64 words"}.in("reads");
    for (const auto& word : reads) {
        if (knowledge::Selectors::current().find(word))
            continue;
        // Reader names are lower case, so variables here must not begin with a lower-case letter.
        if (!is_profile_variable(word) || !consists_of(word.substr(0, 1), {kUpper, "_"}))
            return ReadProblem{scrubbed(word, kMaxProfileWord) + ": not a reader or a variable"}.in(
                "reads");
        if (auto problem = knowledge::variable_problem(word, profile.name))
            return ReadProblem{word + ": " + *problem}.in("reads");
    }
    for (const auto& word : profile.forwards) {
        if (!is_profile_variable(word))
            return ReadProblem{scrubbed(word, kMaxProfileWord) + ": not the name of a variable"}.in(
                "forwards");
        if (auto problem = knowledge::variable_problem(word, profile.name))
            return ReadProblem{word + ": " + *problem}.in("forwards");
    }
    return {};
}

ReadProblem environment_problem(const Profile& profile) {
    const auto access = access_of(profile);
    // Compare with the declared variables only if the profile declares variables.
    const bool declares_variables = profile.reads || !profile.forwards.empty();
    for (const auto& [backend, rules] : profile.environment) {
        if (!contains(profile.backends, backend))
            return no_backend_of(profile, backend).in("environment");
        if (rules.size() > kMaxProfileRules)
            return ReadProblem{"more than 16 rules"}.in(backend).in("environment");
        for (std::size_t at = 0; at < rules.size(); ++at)
            if (auto problem =
                    rule_problem(rules[at], profile, declares_variables ? &access : nullptr);
                !problem.empty())
                return std::move(problem)
                    .in("[" + std::to_string(at) + "]")
                    .in(backend)
                    .in("environment");
    }
    return {};
}

ReadProblem predicates_problem(const std::vector<Predicate>& predicates) {
    return predicates.size() > kMaxPredicates ? "more than 32 predicates" : ReadProblem{};
}

/// Checks predicates that are grouped by backend.
ReadProblem rules_problem(const Profile& profile,
                          const std::map<std::string, std::vector<Predicate>>& rules) {
    for (const auto& [backend, predicates] : rules) {
        if (backend != kAnyBackend && !contains(profile.backends, backend))
            return no_backend_of(profile, backend);
        if (auto problem = predicates_problem(predicates); !problem.empty())
            return std::move(problem).in(backend);
    }
    return {};
}

ReadProblem floors_problem(const Profile& profile) {
    return rules_problem(profile, profile.floors).in("floors");
}

ReadProblem as_discrete_problem(const Profile& profile) {
    return rules_problem(profile, profile.as_discrete).in("as_discrete");
}

ReadProblem prefers_problem(const Profile& profile) {
    return rules_problem(profile, profile.prefers).in("prefers");
}

/// The error in `integrated_by`, which requires the policy "never" and may name only variables that
/// the program reads.
ReadProblem integrated_by_problem(const Profile& profile) {
    if (profile.integrated_by.empty())
        return {};
    if (profile.integrated != IntegratedPolicy::Never)
        return ReadProblem{"requires that \"integrated\" is \"never\""}.in("integrated_by");
    for (const auto& [variable, values] : profile.integrated_by)
        if (const auto known = split(values, '|'); std::ranges::find(known, "") != known.end())
            return ReadProblem{"a value is empty"}.in(variable).in("integrated_by");
    const auto access = access_of(profile);
    if (auto problem = rule_problem(profile.integrated_by, profile, &access); !problem.empty())
        return std::move(problem).in("integrated_by");
    return {};
}

ReadProblem bundles_problem(const Profile& profile) {
    if (profile.bundles.size() > kMaxBundles)
        return ReadProblem{"more than 32 libraries"}.in("bundles");
    for (const auto& word : profile.bundles)
        if (!can_be_bundled(word))
            return ReadProblem{scrubbed(word, kMaxProfileWord) +
                               ": expected a backend or a GPU library such as libcudart"}
                .in("bundles");
    return {};
}

ReadProblem statuses_problem(const Profile& profile) {
    if (profile.failed_statuses.size() > kMaxStatuses)
        return ReadProblem{"more than 16 exit statuses"}.in("failed_statuses");
    for (const int status : profile.failed_statuses)
        if (status < 1 || status > kMaxStatus)
            return ReadProblem{"expected exit statuses from 1 to 125"}.in("failed_statuses");
    return {};
}

ReadProblem requests_problem(const Profile& profile) {
    if (!profile.requests)
        return {};
    if (profile.requests->size() > kMaxRequests)
        return ReadProblem{"more than 64 words"}.in("requests");
    for (const auto& [word, backends] : *profile.requests) {
        // "auto", "none" and "off" have a fixed meaning in requests.
        if (!is_word(word) || word == "auto" || word == "none" || word == "off")
            return ReadProblem{scrubbed(word, kMaxProfileWord) + ": expected a lower-case word"}.in(
                "requests");
        for (std::size_t at = 0; at < backends.size(); ++at)
            if (!contains(profile.backends, backends[at]) && backends[at] != kCpu)
                return unknown_word(scrubbed(backends[at], kMaxProfileWord) +
                                        ": not a backend of this application",
                                    profile.backends)
                    .in("[" + std::to_string(at) + "]")
                    .in(word)
                    .in("requests");
    }
    return {};
}

ReadProblem platforms_problem(const Profile& profile) {
    if (profile.platforms.size() > kMaxProfilePlatforms)
        return ReadProblem{"more than 32 platforms"}.in("platforms");
    // A platform is written as "os-arch", so it contains a dash.
    for (const auto& [platform, words] : profile.platforms) {
        if (!is_word(platform) || platform.find('-') == std::string::npos)
            return ReadProblem{scrubbed(platform, kMaxProfileWord) +
                               ": expected a name like darwin-arm64"}
                .in("platforms");
        for (const auto& word : words)
            if (!is_word(word))
                return ReadProblem{"expected lower-case words"}.in(platform).in("platforms");
    }
    return {};
}

/// A rule maps exactly one value to its predicates.
ReadProblem answer_problem(const AnswerRule& rule) {
    if (rule.size() != 1)
        return "expected one value with its predicates";
    const auto& [text, predicates] = *rule.begin();
    if (text.size() > kMaxTemplate || !is_printable(text))
        return "expected at most 256 printable characters";
    if (auto problem = template_problem(text, is_answer_fact))
        return std::move(*problem);
    auto problem = predicates_problem(predicates);
    return problem.empty() ? problem : std::move(problem).in(text);
}

ReadProblem answers_problem(const Profile& profile) {
    if (profile.answers.size() > kMaxAnswers)
        return ReadProblem{"more than 32 answers"}.in("answers");
    for (const auto& [name, rules] : profile.answers) {
        if (!is_profile_variable(name))
            return ReadProblem{scrubbed(name, kMaxProfileWord) + ": not the name of an answer"}.in(
                "answers");
        if (rules.size() > kMaxProfileRules)
            return ReadProblem{"more than 16 rules"}.in(name).in("answers");
        for (std::size_t at = 0; at < rules.size(); ++at)
            if (auto problem = answer_problem(rules[at]); !problem.empty())
                return std::move(problem).in("[" + std::to_string(at) + "]").in(name).in("answers");
    }
    return {};
}

ReadProblem messages_problem(const Profile& profile) {
    if (profile.messages.size() > kMaxMessages)
        return ReadProblem{"more than 128 messages"}.in("messages");
    for (const auto& [key, text] : profile.messages)
        if (auto problem = message_problem(key, text))
            return ReadProblem{std::move(*problem)}
                .in(scrubbed(key, kMaxProfileWord))
                .in("messages");
    return {};
}

ReadProblem dates_problem(const Profile& profile) {
    for (const auto& [key, date] :
         {std::pair{"issued", &profile.issued}, {"expires", &profile.expires}})
        if (*date && !instant_from(**date))
            return ReadProblem{"expected a time such as 2026-08-22T00:00:00Z"}.in(key);
    return {};
}

/// The first error in a profile and the member with the error. Errors are unknown words, exceeded
/// limits (docs/data-files.md) and contradictions. The result is empty if the profile is valid.
ReadProblem profile_problem(const Profile& profile) {
    for (const auto check :
         {name_problem, dates_problem, order_problem, vendors_problem, translate_problem,
          reads_problem, environment_problem, floors_problem, as_discrete_problem, prefers_problem,
          integrated_by_problem, bundles_problem, statuses_problem, requests_problem,
          platforms_problem, answers_problem, messages_problem})
        if (auto problem = check(profile); !problem.empty())
            return problem;
    return {};
}

ReadProblem unlisted_word(const std::vector<Predicate>& predicates) {
    for (std::size_t at = 0; at < predicates.size(); ++at)
        if (auto problem = unlisted_word(predicates[at]); !problem.empty())
            return std::move(problem).in("[" + std::to_string(at) + "]");
    return {};
}

ReadProblem unlisted_vendor(const Profile& profile) {
    for (const auto& [vendor, backends] : profile.vendors)
        if (vendor != kAnyVendor && !is_known_word(FactId::Vendor, vendor)) {
            auto problem = unknown_word("unknown vendor", known_words(FactId::Vendor));
            problem.word = vendor;
            problem.may_be_newer = true;
            return std::move(problem).in(vendor).in("vendors");
        }
    return {};
}

/// The first unknown word in a valid profile; a newer program may know the word.
ReadProblem newer_word(const Profile& profile) {
    if (auto problem = unlisted_vendor(profile); !problem.empty())
        return problem;
    for (const auto& [member, rules] :
         {std::pair{"floors", &profile.floors}, std::pair{"as_discrete", &profile.as_discrete},
          std::pair{"prefers", &profile.prefers}})
        for (const auto& [backend, predicates] : *rules)
            if (auto problem = unlisted_word(predicates); !problem.empty())
                return std::move(problem).in(backend).in(member);
    for (const auto& [name, rules] : profile.answers)
        for (std::size_t at = 0; at < rules.size(); ++at)
            for (const auto& [value, predicates] : rules[at])
                if (auto problem = unlisted_word(predicates); !problem.empty())
                    return std::move(problem)
                        .in(value)
                        .in("[" + std::to_string(at) + "]")
                        .in(name)
                        .in("answers");
    return {};
}

/// Backends that aren't in gpuprobe's API table. Source: the backend folders of ggml and the
/// device names of PyTorch, ONNX Runtime and wgpu.
constexpr std::string_view kForeign =
    "amx blas cann directml hexagon kompute metal mlx mps musa npu onednn qnn rpc tpu xnnpack "
    "zendnn";

}  // namespace

ReadProblem read_profile(const Value& value, Profile& out, UnknownWords unknown) {
    auto problem = read_strictly(value, out);
    if (problem.empty())
        problem = profile_problem(out);
    if (problem.empty() && unknown == UnknownWords::Refuse)
        problem = newer_word(out);
    return problem;
}

bool is_foreign_backend(std::string_view word) {
    return has_word(kForeign, word) || std::ranges::any_of(kApis, [word](const ApiInfo& api) {
               return has_word(api.other_backends, word);
           });
}

}  // namespace gpuprobe::inline policy
