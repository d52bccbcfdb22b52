// SPDX-License-Identifier: Apache-2.0
#include "engine/feedback.h"

#include <algorithm>
#include <array>

#include "base/accounts.h"
#include "base/text.h"
#include "base/value.h"
#include "policy/profile.h"
#include "report/compute_view.h"
#include "report/fact_key.h"

namespace gpuprobe::engine {
namespace {

constexpr std::size_t kMaxName = 128;

/// The path of a file in the state folder, if there is one.
std::optional<std::string> in_folder(const std::optional<std::string>& folder, const char* name) {
    return folder ? std::optional{*folder + "/" + name} : std::nullopt;
}

/// Whether the text can be the name of an application, backend or variant. Strict, because names
/// are stored and shown to other users.
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
                 std::string{what} + ": letters, digits and -._+:/ make a name"};
}

/// The note for a file that can't be read.
Reason set_aside(const char* what, const Error& error) {
    return because("state-ignored", {{"what", what}, {"problem", scrubbed(error.text)}});
}

/// The facts about one GPU's API that change when its driver is updated. Failures from before an
/// update no longer count.
Value driver_print(const Gpu& gpu, std::string_view api) {
    Value print;
    print["id"] = gpu.id;
    print["driver"] = to_value(gpu.driver);
    // An API that does not list the GPU has no version; the kernel driver is enough then.
    const auto view = gpu.apis.find(std::string{api});
    if (view == gpu.apis.end())
        return print;
    print["version"] = to_value(view->second.version);
    print["by"] = to_value(view->second.driver);
    print["driver_version"] = fact(view->second.device, FactKey<Value>{"driver_version"});
    return print;
}

/// A fingerprint of the drivers that a choice depends on, for that GPU or for all GPUs.
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

/// The error for a bad member; the key may come from an untrusted caller.
Error outcome_at_fault(std::string_view key, std::string_view problem) {
    return Error{ErrorCode::InvalidRequest,
                 "outcome: " + scrubbed(key, 64) + ": " + std::string{problem}};
}

/// Reads `backend`, `variant` or `family`, of which only one may be present.
Status read_choice(std::string_view kind, const std::string& name, OutcomeReport& report) {
    if (!report.choice.empty())
        return outcome_at_fault(kind, "one of backend, variant and family is enough");
    if (!is_name(name))
        return outcome_at_fault(kind, "no name");
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
    // All values are strings; `text` is null for any other type, which is an error for every key.
    const auto* text = member.value.as_string();
    const auto is_choice = std::ranges::find(kChoices, member.key) != kChoices.end();
    if (text && is_choice)
        return read_choice(member.key, *text, report);
    if (text && member.key == "outcome")
        return read_outcome(*text, report);
    if (text && member.key == "consumer")
        report.consumer = *text;
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
    // The required members. The choice is checked separately, because it has three possible keys.
    for (const char* key : {"consumer", "outcome"})
        if (!object.find(key))
            return outcome_at_fault(key, "missing");
    if (report.choice.empty())
        return outcome_at_fault("backend", "missing; or variant, or family");
    TRY(check_name("outcome: consumer", report.consumer));
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

Status Feedback::set_override(const std::string& consumer,
                              const Value& rule,
                              uid_t by,
                              WallTime now) {
    TRY(check_name("consumer", consumer));
    (void)TRY(override_rule_from(rule));
    return overrides_.set(consumer, store::Override{.rule = rule, .set_at = now, .set_by = by});
}

Result<bool> Feedback::clear_override(const std::string& consumer) {
    return overrides_.clear(consumer);
}

std::vector<Reason> Feedback::override_notes() const {
    std::vector<Reason> notes;
    for (const auto& [consumer, entry] : overrides_.all())
        notes.push_back(because("override-set", {{"consumer", consumer}, {"rule", entry.rule}}));
    return notes;
}

std::optional<OverrideRule> Feedback::rule_for(const std::string& consumer) const {
    const auto* entry = overrides_.find(consumer);
    if (!entry)
        return std::nullopt;
    auto rule = override_rule_from(entry->rule);
    if (!rule)
        return std::nullopt;  // written by another version of this program
    return std::move(rule).value();
}

/// A failure is stored with the drivers' current fingerprint, so that an update clears it.
Status Feedback::report(const OutcomeReport& outcome,
                        uid_t by,
                        const Report& machine,
                        WallTime now) {
    auto gpu = outcome.gpu;
    if (gpu)
        gpu = TRY(known_id(ComputeView{machine}.report(), *gpu));
    store::FailedChoice choice{.uid = by,
                               .consumer = outcome.consumer,
                               .choice = outcome.choice,
                               .gpu = gpu,
                               .fingerprint = fingerprint_of(machine, outcome.choice, gpu),
                               .detail = outcome.detail,
                               .at = now};
    return outcome.worked ? outcomes_.worked(choice)
                          : outcomes_.failed(std::move(choice), account_of_);
}

/// The fingerprint is made for each failure, because each may be about another API and GPU.
Experience Feedback::experience_of(uid_t uid,
                                   const std::string& consumer,
                                   const Report& machine,
                                   WallTime now) const {
    Experience experience;
    for (const auto& failure : outcomes_.counting_for(uid, consumer, now))
        if (failure.fingerprint == fingerprint_of(machine, failure.choice, failure.gpu))
            experience.failures.push_back({.backend = failure.choice,
                                           .gpu = failure.gpu,
                                           .detail = failure.detail.value_or(""),
                                           .at = failure.at});
    return experience;
}

/// Reports by root count for every user.
bool Feedback::concerns(uid_t uid) const {
    return outcomes_.has_own(uid) || outcomes_.has_own(kRoot);
}

}  // namespace gpuprobe::engine
