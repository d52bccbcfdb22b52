// SPDX-License-Identifier: Apache-2.0
#include "engine/decision_service.h"

#include <algorithm>

#include "base/text.h"
#include "engine/knowledge_folders.h"
#include "policy/candidates.h"
#include "policy/evaluate.h"
#include "policy/profile.h"
#include "policy/select.h"
#include "report/outcome.h"

namespace gpuprobe::engine {
namespace {

constexpr std::size_t kMaxProductName = 128;

/// Warnings for expired data files that an answer is based on: those used for the report, and the
/// application's. Manifest and profile usually share a data file, so only one of them is reported.
std::vector<Reason> stale_of(const Manifest* product,
                             const Profile* profile,
                             const CallerContext& caller) {
    auto warnings = stale_among(caller.seen.notes);
    auto stale = product ? staleness(*product, caller.now) : std::nullopt;
    if (!stale && profile)
        stale = staleness(*profile, caller.now);
    if (stale)
        warnings.push_back(std::move(*stale));
    return warnings;
}

/// Reported failures in the form that recommend() uses. A failed backend, by our name or the
/// application's, applies to all variants that use it.
std::vector<FailedVariant> failed_variants(const Experience& experience, const Profile* profile) {
    std::vector<FailedVariant> failed;
    for (const auto& failure : experience.failures) {
        auto word = failure.backend;
        if (word.find(':') == std::string::npos)
            word = "backend:" + (profile ? backend_named(*profile, word).value_or(word) : word);
        FailedVariant variant{.word = std::move(word), .gpu = failure.gpu};
        variant.detail["detail"] = failure.detail;
        variant.detail["at_usec"] = to_value(failure.at);
        failed.push_back(std::move(variant));
    }
    return failed;
}

/// The error for an unknown name in an outcome, with the closest known name.
Error no_such(std::string_view what,
              const std::string& word,
              const std::vector<std::string>& known) {
    return {ErrorCode::InvalidRequest, "outcome: no " + std::string{what} + " '" +
                                           scrubbed(word, 64) + "'" + suggestion(word, known)};
}

/// Accepts a backend by the application's name or by ours. Also accepts backends of other software
/// that we do not support (is_foreign_backend()).
Status check_backend(const std::string& word, const Profile& profile) {
    if (backend_named(profile, word) || is_foreign_backend(word))
        return Done{};
    auto known = profile.backends;
    for (const auto& [backend, translation] : profile.translate)
        known.push_back(translation);
    return no_such("backend", word, known);
}

/// Accepts "variant:NAME" and "family:NAME" of any platform of the manifest.
Status check_variant(const std::string& word, const Manifest& product) {
    std::vector<std::string> known;
    for (const auto& platform : product.platforms)
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
    // Applications and rules are data files of the library, so set the library first.
    auto loaded = folders.knowledge ? knowledge_in(*folders.knowledge)
                                    : LoadedKnowledge{.library = knowledge::Library::compiled_in()};
    knowledge::Library::use(std::move(loaded.library));
    auto ignored = std::move(loaded.ignored);
    auto places = folders.consumers;
    if (folders.knowledge)
        places.push_back(folders.knowledge->own + "/consumers");
    Documents documents{.consumers = consumers_in(places, &ignored), .rules = Rules::current()};
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

/// Fails for an unknown application. If `may_be_foreign`, an application that we have no data file
/// for is accepted, unless its name is close to a known one and so probably misspelled.
Status DecisionService::check_name(const std::string& consumer, bool may_be_foreign) const {
    const auto known = documents_.consumers.names();
    if (std::ranges::find(known, consumer) != known.end() ||
        (may_be_foreign && !closest(consumer, known)))
        return Done{};
    return unknown_name(ErrorCode::UnknownConsumer, "no consumer", consumer, consumers());
}

Status DecisionService::set_override(const std::string& consumer,
                                     const Value& rule,
                                     const CallerContext& by) {
    const auto change = TRY(override_rule_from(rule));
    TRY(check_name(consumer, change.request == SelectRequest{}));
    // Merge with the override that is set now; if nothing remains, clear it.
    const auto* before = feedback_.overrides().find(consumer);
    const auto merged = merged_rule(before ? before->rule : Value{}, rule);
    if (merged.as_object()->empty()) {
        (void)TRY(feedback_.clear_override(consumer));
        return Done{};
    }
    // Check only the change: the rest was checked when it was set, and the machine may have changed
    // since then.
    TRY(check_rule(change, documents_.consumers.selection(consumer),
                   documents_.consumers.product(consumer), by.machine));
    return feedback_.set_override(consumer, merged, by.uid, by.now);
}

Status DecisionService::report(const OutcomeReport& outcome, const CallerContext& by) {
    // A choice is a backend, or "variant:NAME" or "family:NAME".
    const bool is_backend = outcome.choice.find(':') == std::string::npos;
    TRY(check_name(outcome.consumer, !is_backend));
    const auto& known = documents_.consumers;
    if (const auto* profile = known.selection(outcome.consumer); profile && is_backend)
        TRY(check_backend(outcome.choice, *profile));
    if (const auto* product = known.product(outcome.consumer); product && !is_backend)
        TRY(check_variant(outcome.choice, *product));
    return feedback_.report(outcome, by.uid, by.machine, by.now);
}

Result<Decision> DecisionService::select(const std::string& consumer,
                                         const Value& request,
                                         const CallerContext& caller) const {
    const auto* profile = documents_.consumers.selection(consumer);
    if (!profile)
        return unknown_name(ErrorCode::UnknownConsumer, "no consumer", consumer, consumers());
    auto wanted = TRY(select_request_from(request));
    // The override narrows the request and adds its preferences after the caller's.
    if (const auto rule = feedback_.rule_for(consumer))
        wanted = under_rule(std::move(wanted), rule->request, *profile, caller.seen);
    const auto* product = documents_.consumers.product(consumer);
    auto decision = TRY(gpuprobe::select(
        *profile, wanted, caller.seen,
        feedback_.experience_of(caller.uid, consumer, caller.machine, caller.now), product));
    for (auto& stale : stale_of(product, profile, caller))
        decision.warnings.push_back(std::move(stale));
    return decision;
}

/// Parses the given manifest, or finds the installed one.
Result<Manifest> DecisionService::manifest_of(const std::string& product,
                                              std::string_view manifest) const {
    if (product.size() > kMaxProductName)
        return Error{ErrorCode::InvalidRequest, "product: more than 128 bytes"};
    if (manifest.empty()) {
        if (const auto* found = documents_.consumers.product(product))
            return *found;
        return unknown_name(ErrorCode::NotFound, "no product", product, products());
    }
    auto found = TRY(parse_product(manifest));
    if (found.name.empty())
        found.name = scrubbed(product, kMaxProductName);
    return found;
}

Result<Recommendation> DecisionService::recommend(const std::string& product,
                                                  std::string_view manifest,
                                                  const Value& request,
                                                  const CallerContext& caller) const {
    const auto variants = TRY(manifest_of(product, manifest));
    // Override and failures are looked up by `product`, or else by the manifest's name.
    const auto& name = product.empty() ? variants.name : product;
    auto wanted = TRY(recommend_request_from(request));
    if (const auto rule = feedback_.rule_for(name); rule && !rule->variants.is_null())
        wanted = under_rule(std::move(wanted), TRY(recommend_request_from(rule->variants)));
    // An override of the backend limits the variants as well.
    const auto* profile = documents_.consumers.selection(name);
    SelectRequest choice{.environment = wanted.environment};
    if (const auto rule = feedback_.rule_for(name); rule && profile) {
        wanted = under_backend_rule(std::move(wanted), rule->request, *profile, caller.seen);
        choice = under_rule(std::move(choice), rule->request, *profile, caller.seen);
    }
    const auto experience = feedback_.experience_of(caller.uid, name, caller.machine, caller.now);
    // With the application's own manifest, the recommendation follows the selection of its backend.
    const bool is_consumers_own = profile && manifest.empty();
    auto recommendation = gpuprobe::recommend(
        variants, wanted, caller.seen, documents_.rules, failed_variants(experience, profile),
        is_consumers_own ? selection_view(*profile, choice, caller.seen, experience, &variants)
                         : SelectionView{});
    for (auto& stale : stale_of(&variants, is_consumers_own ? profile : nullptr, caller))
        recommendation.warnings.push_back(std::move(stale));
    return recommendation;
}

}  // namespace gpuprobe::engine
