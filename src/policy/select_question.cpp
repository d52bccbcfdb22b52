// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "policy/build_needs.h"
#include "policy/candidates.h"
#include "policy/fact.h"
#include "policy/profile.h"
#include "policy/profile_texts.h"
#include "policy/term.h"
#include "report/compute_view.h"

namespace gpuprobe::inline policy {
namespace {

/// The error for a word in a request.
Error refused(std::string_view key, std::string_view word, std::string_view reason) {
    return Error{ErrorCode::InvalidRequest, "request: " + std::string{key} + ": " +
                                                scrubbed(word, 64) + ": " + std::string{reason}};
}

/// The hint "; did you mean 'cuda'?" if the profile has a name that resembles the word.
std::string nearest(const Profile& profile, std::string_view word) {
    auto known = profile.backends;
    for (const auto& [backend, translation] : profile.translate)
        known.push_back(translation);
    const auto question = did_you_mean(word, known);
    return question.empty() ? question : "; " + question;
}

/// Adds the backend that the word names. Backends that only other applications have are ignored.
Status add_backend(const Profile& profile,
                   std::string_view key,
                   const std::string& word,
                   std::set<std::string>& out) {
    if (auto backend = backend_named(profile, word))
        out.insert(std::move(*backend));
    else if (!is_backend(word) && !is_foreign_backend(word))
        return refused(key, word, "no such backend" + nearest(profile, word));
    return Done{};
}

/// The set of backends in an optional list.
Result<std::optional<std::set<std::string>>> backends_from(
    const Profile& profile,
    std::string_view key,
    const std::optional<std::vector<std::string>>& words) {
    if (!words)
        return std::optional<std::set<std::string>>{};
    std::set<std::string> backends;
    for (const auto& word : *words)
        TRY(add_backend(profile, key, word, backends));
    return std::optional{std::move(backends)};
}

/// The GPU's id as the report spells it. The GPU need not exist, so that a removed GPU can stay
/// denied.
std::optional<std::string> denied_id(const Report& report, const std::string& word) {
    if (auto id = known_id(report, word))
        return std::move(id).value();
    auto id = plain_id(word);
    return id.starts_with("pci:") || id.starts_with("platform:") ? std::optional{std::move(id)}
                                                                 : std::nullopt;
}

/// Adds a denied word, which is a GPU id if it contains a colon and a backend otherwise.
Status add_denied(const Report& report, const std::string& word, SelectQuestion& question) {
    if (word.find(':') == std::string::npos)
        return add_backend(question.profile, "deny", word, question.denied);
    auto id = denied_id(report, word);
    if (!id)
        return refused("deny", word, "not the id of a GPU");
    question.denied_gpus.insert(std::move(*id));
    return Done{};
}

/// Adds a requested GPU, which must exist.
Status add_wanted_gpu(const Report& report, const std::string& word, SelectQuestion& question) {
    auto id = known_id(report, word);
    if (!id)
        return Error{ErrorCode::UnknownDevice, "request: gpus: " + id.error().text};
    if (!contains(*question.gpus, id.value()))
        question.gpus->push_back(std::move(id).value());
    return Done{};
}

Status add_gpus(const SelectRequest& request, const Report& report, SelectQuestion& question) {
    for (const auto& word : request.deny)
        TRY(add_denied(report, word, question));
    if (!request.gpus)
        return Done{};
    question.gpus.emplace();
    for (const auto& word : *request.gpus)
        TRY(add_wanted_gpu(report, word, question));
    return Done{};
}

/// The backends that a word requests; nullopt if the application does not know the word.
std::optional<std::vector<std::string>> backends_asked_for(const Profile& profile,
                                                           const std::string& word) {
    if (!profile.requests) {
        auto backend = backend_named(profile, word);
        return backend ? std::optional{std::vector{std::move(*backend)}} : std::nullopt;
    }
    const auto found = profile.requests->find(word);
    return found == profile.requests->end() ? std::nullopt : std::optional{found->second};
}

/// The error for an unknown backend. If the profile has a message for this error, the error
/// contains that message.
Error unknown_backend(const Profile& profile, const std::string& word) {
    const auto known = known_requests(profile);
    if (auto text = message_for(profile, "unknown-backend", word,
                                [&](std::string_view fact) -> std::optional<std::string> {
                                    return fact == "requested" ? scrubbed(word, 64) : known;
                                }))
        return Error{ErrorCode::InvalidRequest, std::move(*text)};
    return refused("backend", word, "expected one of " + known);
}

/// Resolves the `backend` of the request.
Status force(const SelectRequest& request, SelectQuestion& question) {
    if (!request.backend || is_switched_off(request))
        return Done{};
    const auto& profile = question.profile;
    question.forced = backends_asked_for(profile, *request.backend);
    question.requested = scrubbed(*request.backend, 64);
    // The summary shows the application's name for the backend, even if the request contained
    // gpuprobe's name.
    if (question.forced && !profile.requests)
        question.requested = question.word_for(question.forced->front());
    if (question.forced)
        return Done{};
    // An unknown word is an error unless the profile treats it as "auto".
    question.is_unknown_request = true;
    if (profile.unknown_request == UnknownRequest::Auto && !question.strict)
        return Done{};
    return unknown_backend(profile, *request.backend);
}

/// Checks and stores the predicates of the request.
Status require(const SelectRequest& request, SelectQuestion& question) {
    for (const auto& text : request.require) {
        auto predicate = requested_predicate(text);
        if (!predicate)
            return refused("require", text, predicate.error().text);
        question.require.push_back(std::move(predicate).value());
    }
    return Done{};
}

/// Stores the preferred GPU backends without duplicates.
Status prefer(const SelectRequest& request, SelectQuestion& question) {
    for (const auto& word : request.prefer) {
        const auto backend = backend_named(question.profile, word);
        if (backend == kCpu)
            return refused("prefer", word,
                           "the CPU is always the last choice; request it with \"backend\"");
        if (backend && !contains(question.preferred, *backend))
            question.preferred.push_back(*backend);
        if (!backend && !is_backend(word) && !is_foreign_backend(word))
            return refused("prefer", word, "no such backend" + nearest(question.profile, word));
    }
    return Done{};
}

/// Derives the built-in backends from the installed build, unless the request lists them. The CPU
/// always counts as built in; the profile decides whether it may be used.
void note_built(const InstalledNeeds& needs, bool is_listed, SelectQuestion& question) {
    if (is_listed)
        return;
    if (!question.built)
        question.built.emplace({std::string{kCpu}});
    for (const auto& [backend, routes] : needs)
        question.built->insert(backend);
}

/// Copies a GPU backend's requirements to the profile's backend that uses the same API, for example
/// from opencl to openvino.
void add_accelerator_backends(const Profile& profile, InstalledNeeds& needs) {
    for (const auto& backend : profile.backends)
        if (const auto found = needs.find(std::string{gpu_backend_of(backend)});
            found != needs.end())
            needs.try_emplace(backend, found->second);
}

/// Collects the requirements of the installed build.
Status note_installed(const SelectRequest& request,
                      const Report& report,
                      const Manifest* manifest,
                      SelectQuestion& question) {
    const bool is_listed = question.built.has_value();
    if (!request.variants.empty()) {
        if (!manifest)
            return refused("variant", request.variants.front(), "this application has no manifest");
        const Facts host{{.report = report}};
        question.installed.push_back(TRY(needs_of(request.variants, *manifest, host)));
        if (request.variants.size() == 1)
            question.variant = request.variants.front();
    }
    if (!(request.installed == DescribedBuild{}))
        question.installed.push_back(
            needs_of(request.installed, question.profile.bundles, Rules::current()));
    for (auto& needs : question.installed) {
        add_accelerator_backends(question.profile, needs);
        note_built(needs, is_listed, question);
    }
    return Done{};
}

/// The reported failures, with gpuprobe's names for backends. Reports about backends that the
/// profile no longer contains are dropped.
std::vector<ReportedFailure> failures_for(const Profile& profile, const Experience& experience) {
    std::vector<ReportedFailure> failures;
    for (auto failure : experience.failures)
        if (auto backend = backend_named(profile, failure.backend)) {
            failure.backend = std::move(*backend);
            failures.push_back(std::move(failure));
        }
    return failures;
}

/// Moves the preferred backends to the front of the list.
std::vector<std::string> preferred_first(const SelectQuestion& question,
                                         std::vector<std::string> backends) {
    auto next = backends.begin();
    for (const auto& backend : question.preferred) {
        const auto found = std::find(next, backends.end(), backend);
        if (found == backends.end())
            continue;
        std::rotate(next, found, found + 1);
        ++next;
    }
    return backends;
}

/// The caller's variables that make the program use integrated GPUs; empty if one of these
/// variables isn't set or has another value.
std::map<std::string, std::string> switched_by(const Profile& profile,
                                               const std::map<std::string, std::string>& callers) {
    std::map<std::string, std::string> found;
    for (const auto& [variable, values] : profile.integrated_by) {
        const auto set = callers.find(variable);
        const auto known = split(values, '|');
        if (set == callers.end() || std::ranges::find(known, set->second) == known.end())
            return {};
        found.insert(*set);
    }
    return found;
}

}  // namespace

std::optional<std::string> backend_named(const Profile& profile, const std::string& word) {
    // A translated name takes precedence over gpuprobe's name.
    for (const auto& [backend, translation] : profile.translate)
        if (translation == word)
            return backend;
    if (contains(profile.backends, word) || word == kCpu)
        return word;
    return std::nullopt;
}

std::string SelectQuestion::word_for(const std::string& backend) const {
    const auto found = profile.translate.find(backend);
    return found == profile.translate.end() ? backend : found->second;
}

bool SelectQuestion::asks_for(std::string_view backend) const {
    return forced && contains(*forced, backend) && (backend != kCpu || forced->size() == 1);
}

std::vector<std::string> SelectQuestion::compiled() const {
    std::vector<std::string> words;
    for (const auto& backend : profile.backends)
        if (!built || built->contains(backend))
            words.push_back(word_for(backend));
    return words;
}

/// Vendor rules affect only the automatic choice, so a backend that the request names is permitted
/// on GPUs from every vendor.
std::vector<std::string> SelectQuestion::backends_for(
    const std::optional<std::string>& vendor) const {
    if (profile.vendors.empty())
        return backends;
    auto found = profile.vendors.find(vendor.value_or(std::string{kAnyVendor}));
    if (found == profile.vendors.end())
        found = profile.vendors.find(std::string{kAnyVendor});
    auto allowed = found == profile.vendors.end() ? std::vector<std::string>{} : found->second;
    for (const auto& backend : backends)
        if ((any_vendor || asks_for(backend)) && !contains(allowed, backend))
            allowed.push_back(backend);
    return preferred_first(*this, std::move(allowed));
}

Result<SelectQuestion> question_from(const Profile& profile,
                                     const SelectRequest& request,
                                     const Report& report,
                                     const Experience& experience,
                                     const Manifest* manifest) {
    SelectQuestion question{.profile = profile};
    question.built = TRY(backends_from(profile, "built", request.built));
    // note_installed() uses `built`, which shows whether the request lists the backends.
    TRY(note_installed(request, report, manifest, question));
    question.only = TRY(backends_from(profile, "only", request.only));
    question.strict = request.strict.value_or(profile.strict);
    question.min_memory = request.min_memory;
    question.failures = failures_for(profile, experience);
    question.callers_environment = request.environment;
    question.integrated_by = switched_by(profile, request.environment);
    question.integrated =
        question.integrated_by.empty() ? profile.integrated : IntegratedPolicy::Fallback;
    TRY(add_gpus(request, report, question));
    question.any_vendor = request.any_vendor;
    const auto rank = request.rank ? request.rank : profile.rank;
    question.ranks_by_measurement = rank == Rank::Measured;
    question.requires_verified = request.require_verified;
    TRY(require(request, question));
    TRY(force(request, question));
    TRY(prefer(request, question));
    // preferred_first() uses the backends that prefer() stored.
    question.backends = preferred_first(question, profile.backends);
    std::erase(question.backends, kCpu);
    return question;
}

}  // namespace gpuprobe::inline policy
