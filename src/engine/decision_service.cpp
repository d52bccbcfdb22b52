// SPDX-License-Identifier: Apache-2.0
#include "engine/decision_service.h"

#include <algorithm>
#include <array>

#include "base/accounts.h"
#include "base/text.h"
#include "base/value.h"
#include "engine/knowledge_base.h"
#include "policy/assumptions.h"
#include "policy/candidates.h"
#include "policy/evaluate.h"
#include "policy/profile.h"
#include "policy/select.h"
#include "report/compute_view.h"
#include "report/fact_key.h"
#include "report/outcome.h"

namespace gpuprobe::engine {
namespace {

constexpr std::size_t kMaxName = 128;

/// The path of a file in the state folder, if there is one.
std::optional<std::string> in_folder(const std::optional<std::string>& folder, const char* name) {
    return folder ? std::optional{*folder + "/" + name} : std::nullopt;
}

/// Whether the string can be the name of an application, backend or variant. The check is strict,
/// because names are stored and shown to other users.
bool is_name(std::string_view text) {
    const auto is_fine = [](unsigned char c) {
        return std::isalnum(c) ||
               std::string_view{"-._+:/"}.find(static_cast<char>(c)) != std::string_view::npos;
    };
    return !text.empty() && text.size() <= kMaxName && std::ranges::all_of(text, is_fine);
}

Status check_name(std::string_view what, std::string_view text) {
    if (is_name(text))
        return Done{};
    return Error{ErrorCode::InvalidRequest,
                 std::string{what} + ": a name may contain only letters, digits and -._+:/"};
}

/// The note about a file that can't be read.
Reason set_aside(const char* what, const Error& error) {
    return because("state-ignored", {{"what", what}, {"problem", scrubbed(error.text)}});
}

/// The facts about an API of a GPU that change when the API's driver is updated. Failures from
/// before an update no longer count.
Value driver_print(const Gpu& gpu, std::string_view api) {
    Value print;
    print["id"] = gpu.id;
    print["driver"] = to_value(gpu.driver);
    // If the API does not list the GPU, there is no version, and the facts about the kernel driver
    // are enough.
    const auto view = gpu.apis.find(std::string{api});
    if (view == gpu.apis.end())
        return print;
    print["version"] = to_value(view->second.version);
    print["by"] = to_value(view->second.driver);
    print["driver_version"] = fact(view->second.device, FactKey<Value>{"driver_version"});
    return print;
}

/// A fingerprint of the drivers on which a choice depends, for that GPU or for all GPUs.
std::string fingerprint_of(const Report& machine,
                           const std::string& choice,
                           const std::optional<std::string>& gpu) {
    Value prints;
    for (const auto& each : machine.gpus)
        if (!gpu || each.id == whole_id(*gpu))
            prints.push_back(driver_print(each, api_below(choice)));
    return json_line(prints);
}

constexpr std::array<std::string_view, 3> kChoices{"backend", "variant", "family"};

/// The stored form of a choice: the backend in lower case, "variant:NAME" or "family:NAME".
std::string choice_of(std::string_view kind, std::string_view name) {
    return kind == "backend" ? lower_case(name) : std::string{kind} + ":" + std::string{name};
}

/// The error for an invalid member. The key may come from an untrusted caller.
Error outcome_at_fault(std::string_view key, std::string_view problem) {
    return Error{ErrorCode::InvalidRequest,
                 "outcome: " + scrubbed(key, 64) + ": " + std::string{problem}};
}

/// Reads `backend`, `variant` or `family`. Only one of them may be present.
Status read_choice(std::string_view kind, const std::string& name, OutcomeReport& report) {
    if (!report.choice.empty())
        return outcome_at_fault(kind, "give only one of backend, variant and family");
    if (!is_name(name))
        return outcome_at_fault(kind, "not a name");
    report.choice = choice_of(kind, name);
    return Done{};
}

Status read_outcome(const std::string& word, OutcomeReport& report) {
    if (word != "ok" && word != "failed")
        return outcome_at_fault("outcome", "expected \"ok\" or \"failed\"");
    report.worked = word == "ok";
    return Done{};
}

/// Reads one member of the outcome; unknown keys are errors.
Status read_member(const Value::Member& member, OutcomeReport& report) {
    // All values must be strings. For any other type `text` is null, which is an error for every
    // key.
    const auto* text = member.value.as_string();
    const auto is_choice = std::ranges::find(kChoices, member.key) != kChoices.end();
    if (text && is_choice)
        return read_choice(member.key, *text, report);
    if (text && member.key == "outcome")
        return read_outcome(*text, report);
    if (text && member.key == "application")
        report.application = *text;
    else if (text && member.key == "gpu")
        report.gpu = *text;
    else if (text && member.key == "detail")
        report.detail = scrubbed(*text, store::Outcomes::kMaxDetail);
    else
        return outcome_at_fault(member.key, text ? "unknown key" : "expected a string");
    return Done{};
}

}  // namespace

Result<OutcomeReport> outcome_report_from(const Value& object) {
    const auto* members = object.as_object();
    if (!members)
        return Error{ErrorCode::InvalidRequest, "outcome: expected an object"};
    OutcomeReport report;
    for (const auto& member : *members)
        TRY(read_member(member, report));
    // Check the required members. The choice is checked separately, because it has three possible
    // keys.
    for (const char* key : {"application", "outcome"})
        if (!object.find(key))
            return outcome_at_fault(key, "missing");
    if (report.choice.empty())
        return outcome_at_fault("backend", "missing; backend, variant or family is required");
    TRY(check_name("outcome: application", report.application));
    return report;
}

Feedback::Feedback(const std::optional<std::string>& folder, store::Outcomes::AccountOf account_of)
    : overrides_{in_folder(folder, "overrides")},
      outcomes_{in_folder(folder, "outcomes")},
      account_of_{std::move(account_of)} {}

std::vector<Reason> Feedback::load() {
    std::vector<Reason> notes;
    if (const auto loaded = overrides_.load(); !loaded)
        notes.push_back(set_aside("overrides", loaded.error()));
    if (const auto loaded = outcomes_.load(); !loaded)
        notes.push_back(set_aside("outcomes", loaded.error()));
    return notes;
}

Status Feedback::set_override(const std::string& application,
                              const Value& rule,
                              uid_t by,
                              WallTime now) {
    TRY(check_name("application", application));
    (void)TRY(override_rule_from(rule));
    return overrides_.set(application, store::Override{.rule = rule, .set_at = now, .set_by = by});
}

Result<bool> Feedback::clear_override(const std::string& application) {
    return overrides_.clear(application);
}

std::vector<Reason> Feedback::override_notes() const {
    std::vector<Reason> notes;
    for (const auto& [application, entry] : overrides_.all())
        notes.push_back(
            because("override-set", {{"application", application}, {"rule", entry.rule}}));
    return notes;
}

std::optional<OverrideRule> Feedback::rule_for(const std::string& application) const {
    const auto* entry = overrides_.find(application);
    if (!entry)
        return std::nullopt;
    auto rule = override_rule_from(entry->rule);
    if (!rule)
        return std::nullopt;  // written by another version of this program
    return std::move(rule).value();
}

/// A failure is stored with the drivers' current fingerprint, so that an update clears the failure.
Status Feedback::report(const OutcomeReport& outcome,
                        uid_t by,
                        const Report& machine,
                        WallTime now) {
    auto gpu = outcome.gpu;
    if (gpu)
        gpu = TRY(known_id(ComputeView{machine}.report(), *gpu));
    store::FailedChoice choice{.uid = by,
                               .application = outcome.application,
                               .choice = outcome.choice,
                               .gpu = gpu,
                               .fingerprint = fingerprint_of(machine, outcome.choice, gpu),
                               .detail = outcome.detail,
                               .at = now};
    return outcome.worked ? outcomes_.worked(choice)
                          : outcomes_.failed(std::move(choice), account_of_);
}

/// The fingerprint is computed for each failure, because each failure may be about a different API
/// and GPU.
Experience Feedback::experience_of(uid_t uid,
                                   const std::string& application,
                                   const Report& machine,
                                   WallTime now) const {
    Experience experience;
    for (const auto& failure : outcomes_.counting_for(uid, application, now))
        if (failure.fingerprint == fingerprint_of(machine, failure.choice, failure.gpu))
            experience.failures.push_back({.backend = failure.choice,
                                           .gpu = failure.gpu,
                                           .detail = failure.detail.value_or(""),
                                           .at = failure.at});
    return experience;
}

/// Reports by root apply to every user.
bool Feedback::concerns(uid_t uid) const {
    return outcomes_.has_own(uid) || outcomes_.has_own(kRoot);
}

namespace {

constexpr std::size_t kMaxApplicationName = 128;

/// Warnings about outdated data files on which an answer is based: expired files that were used for
/// the report, and the application's file if it has expired or describes an older version. Manifest
/// and profile are usually in the same data file, so a warning is given for only one of them.
std::vector<Reason> stale_of(const Manifest* manifest,
                             const Profile* profile,
                             const CallerContext& caller) {
    auto warnings = stale_among(caller.seen.notes);
    auto stale = manifest ? staleness(*manifest, caller.now) : std::nullopt;
    if (!stale && profile)
        stale = staleness(*profile, caller.now);
    auto superseded = manifest ? supersession(*manifest) : std::nullopt;
    if (!superseded && profile)
        superseded = supersession(*profile);
    for (auto* reason : {&stale, &superseded})
        if (*reason)
            warnings.push_back(std::move(**reason));
    return warnings;
}

/// The error for an unknown name in an outcome. The error suggests the most similar known name.
Error no_such(std::string_view what,
              const std::string& word,
              const std::vector<std::string>& known) {
    return {ErrorCode::InvalidRequest, "outcome: no " + std::string{what} + " '" +
                                           scrubbed(word, 64) + "'" + suggestion(word, known)};
}

/// Accepts a backend by the application's name for it or by gpuprobe's name. Also accepts backends
/// of other software that we do not support (is_foreign_backend()).
Status check_backend(const std::string& word, const Profile& profile) {
    if (backend_named(profile, word) || is_foreign_backend(word))
        return Done{};
    auto known = profile.backends;
    for (const auto& [backend, translation] : profile.translate)
        known.push_back(translation);
    return no_such("backend", word, known);
}

/// Accepts "variant:NAME" and "family:NAME" of any platform of the manifest.
Status check_variant(const std::string& word, const Manifest& manifest) {
    std::vector<std::string> known;
    for (const auto& platform : manifest.platforms)
        for (const auto& variant : platform.variants) {
            if (means(word, variant))
                return Done{};
            known.push_back(word.starts_with("family:") ? variant.family : variant.name);
        }
    return no_such("variant or family", word.substr(word.find(':') + 1), known);
}

}  // namespace

DecisionService::DecisionService(Folders folders)
    : folders_{std::move(folders)},
      documents_{read(folders_)},
      feedback_{folders_.state, folders_.account_of},
      set_aside_{feedback_.load()} {}

DecisionService::Documents DecisionService::read(const Folders& folders) {
    // Applications and rules are data files in the library, so set the library first.
    auto loaded = folders.knowledge ? knowledge_in(*folders.knowledge)
                                    : LoadedKnowledge{.library = knowledge::Library::compiled_in()};
    knowledge::Library::use(std::move(loaded.library));
    auto ignored = std::move(loaded.ignored);
    auto places = folders.applications;
    if (folders.knowledge)
        places.push_back(folders.knowledge->own + "/applications");
    Documents documents{.applications = applications_in(places, &ignored),
                        .rules = Rules::current()};
    documents.ignored = std::move(ignored);
    return documents;
}

void DecisionService::reload() {
    documents_ = read(folders_);
}

std::vector<Reason> DecisionService::notes() const {
    auto notes = documents_.ignored;
    notes.insert(notes.end(), set_aside_.begin(), set_aside_.end());
    return notes;
}

/// Fails for an unknown application. If `may_be_foreign`, an application without a data file is
/// accepted, unless its name is similar to a known name and therefore probably misspelled.
Status DecisionService::check_name(const std::string& application, bool may_be_foreign) const {
    const auto known = documents_.applications.names();
    if (std::ranges::find(known, application) != known.end() ||
        (may_be_foreign && !closest(application, known)))
        return Done{};
    return unknown_name("no application", application, documents_.applications.applications());
}

Status DecisionService::set_override(const std::string& application,
                                     const Value& rule,
                                     const CallerContext& by) {
    const auto change = TRY(override_rule_from(rule));
    TRY(check_name(application, change.request == SelectRequest{}));
    // Merge the rule with the current override; if the result is empty, clear the override.
    const auto* before = feedback_.overrides().find(application);
    const auto merged = merged_rule(before ? before->rule : Value{}, rule);
    if (merged.as_object()->empty()) {
        (void)TRY(feedback_.clear_override(application));
        return Done{};
    }
    // Check only the change: the other keys were checked when they were set, and the machine may
    // have changed since then.
    TRY(check_rule(change, documents_.applications.selection(application),
                   documents_.applications.manifest(application), by.machine));
    return feedback_.set_override(application, merged, by.uid, by.now);
}

Status DecisionService::report(const OutcomeReport& outcome, const CallerContext& by) {
    // A choice is a backend, or "variant:NAME" or "family:NAME".
    const bool is_backend = outcome.choice.find(':') == std::string::npos;
    TRY(check_name(outcome.application, !is_backend));
    const auto& known = documents_.applications;
    if (const auto* profile = known.selection(outcome.application); profile && is_backend)
        TRY(check_backend(outcome.choice, *profile));
    if (const auto* manifest = known.manifest(outcome.application); manifest && !is_backend)
        TRY(check_variant(outcome.choice, *manifest));
    return feedback_.report(outcome, by.uid, by.machine, by.now);
}

Result<Decision> DecisionService::select(const std::string& application,
                                         const Value& request,
                                         const CallerContext& caller) const {
    const auto* profile = documents_.applications.selection(application);
    if (!profile)
        return documents_.applications.no_selection(application);
    auto wanted = TRY(select_request_from(request));
    if (!wanted.assume.empty() && caller.seen.assumed.empty()) {
        const auto report = TRY(assuming(caller.seen, wanted.assume));
        return select(application, request, {caller.uid, caller.machine, report, caller.now});
    }
    // The override restricts the request, and appends its preferences to the caller's preferences.
    const auto rule = feedback_.rule_for(application);
    if (rule)
        wanted = under_rule(std::move(wanted), rule->request, *profile, caller.seen);
    const auto* manifest = documents_.applications.manifest(application);
    RecommendRequest variants;
    if (rule && !rule->variants.is_null())
        variants = under_rule({}, TRY(recommend_request_from(rule->variants)));
    auto decision = TRY(gpuprobe::select(
        *profile, wanted, caller.seen,
        feedback_.experience_of(caller.uid, application, caller.machine, caller.now), manifest,
        &variants));
    decision.application = application;  // the profile may belong to another application
    decision.assumed = assumed_values(wanted.assume);
    for (auto& stale : stale_of(manifest, profile, caller))
        decision.warnings.push_back(std::move(stale));
    return decision;
}

/// Parses the given manifest, or finds the installed manifest.
Result<Manifest> DecisionService::manifest_of(const std::string& application,
                                              std::string_view manifest) const {
    if (application.size() > kMaxApplicationName)
        return Error{ErrorCode::InvalidRequest, "application: more than 128 bytes"};
    if (manifest.empty()) {
        if (const auto* found = documents_.applications.manifest(application))
            return *found;
        return documents_.applications.no_manifest(application);
    }
    auto found = TRY(parse_manifest(manifest));
    if (found.name.empty())
        found.name = scrubbed(application, kMaxApplicationName);
    return found;
}

Result<Recommendation> DecisionService::recommend(const std::string& application,
                                                  std::string_view manifest,
                                                  const Value& request,
                                                  const CallerContext& caller) const {
    const auto variants = TRY(manifest_of(application, manifest));
    // Override and failures are looked up by `application`, or else by the manifest's name.
    const auto& name = application.empty() ? variants.name : application;
    auto wanted = TRY(recommend_request_from(request));
    if (!wanted.assume.empty() && caller.seen.assumed.empty()) {
        const auto report = TRY(assuming(caller.seen, wanted.assume));
        return recommend(application, manifest, request,
                         {caller.uid, caller.machine, report, caller.now});
    }
    if (const auto rule = feedback_.rule_for(name); rule && !rule->variants.is_null())
        wanted = under_rule(std::move(wanted), TRY(recommend_request_from(rule->variants)));
    // An override of the backend also limits the variants.
    const auto* profile = documents_.applications.selection(name);
    SelectRequest choice{.environment = wanted.environment};
    if (const auto rule = feedback_.rule_for(name); rule && profile) {
        wanted = under_backend_rule(std::move(wanted), rule->request, *profile, caller.seen);
        choice = under_rule(std::move(choice), rule->request, *profile, caller.seen);
    }
    const auto experience = feedback_.experience_of(caller.uid, name, caller.machine, caller.now);
    // If the manifest is the application's own, the recommendation follows the selected backend.
    const bool is_applications_own = profile && manifest.empty();
    auto recommendation = gpuprobe::recommend(
        variants, wanted, caller.seen, documents_.rules, failed_variants(experience, profile),
        is_applications_own ? selection_view(*profile, choice, caller.seen, experience)
                            : SelectionView{});
    recommendation.assumed = assumed_values(wanted.assume);
    for (auto& stale : stale_of(&variants, is_applications_own ? profile : nullptr, caller))
        recommendation.warnings.push_back(std::move(stale));
    return recommendation;
}

}  // namespace gpuprobe::engine
