// SPDX-License-Identifier: Apache-2.0
#include "engine/decision_service.h"

#include <algorithm>
#include <functional>

#include "base/files.h"
#include "base/parse.h"
#include "base/suggestion.h"
#include "policy/backend_words.h"
#include "policy/evaluate.h"
#include "policy/select.h"
#include "policy/select_question.h"

namespace gpuprobe::engine {
namespace {

constexpr Bytes kMaxProfile = kib(256);
constexpr std::size_t kMaxProductName = 128;

using Add = std::function<Status(std::string text, const std::string& path)>;

/// Passes the text of every `*.json` in the folders to `add`, in order. A missing folder adds
/// nothing. Returns one note with the given code for each file that could not be added.
std::vector<Reason> add_files(const std::vector<std::string>& folders,
                              Bytes limit,
                              ReasonCode code_if_ignored,
                              const Add& add) {
    const RootedFiles files;
    std::vector<Reason> notes;
    for (const auto& folder : folders) {
        auto names = files.list(folder).value_or({});
        for (const auto& name : names) {
            if (!name.ends_with(".json"))
                continue;
            const auto path = folder + "/" + name;
            auto text = files.read(path, limit);
            const auto added = text ? add(std::move(*text), path) : Status{text.error()};
            if (!added)
                notes.push_back(because(
                    code_if_ignored, {{"file", path}, {"problem", scrubbed(added.error().text)}}));
        }
    }
    return notes;
}

Error unknown_consumer(const std::string& name, const std::vector<std::string>& known) {
    return {ErrorCode::UnknownConsumer,
            "no consumer '" + scrubbed(name, 64) + "'" + suggestion(name, known)};
}

/// What failed, as words about variants; a backend of the profile's stands for all that compute
/// with it.
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

Error no_such(std::string_view what,
              const std::string& word,
              const std::vector<std::string>& known) {
    return {ErrorCode::InvalidRequest, "outcome: no " + std::string{what} + " '" +
                                           scrubbed(word, 64) + "'" + suggestion(word, known)};
}

/// A backend by the consumer's name or ours.
Status check_backend(const std::string& word, const Profile& profile) {
    if (backend_named(profile, word) || is_foreign_backend(word))
        return Done{};
    auto known = profile.backends;
    for (const auto& [backend, translation] : profile.translate)
        known.push_back(translation);
    return no_such("backend", word, known);
}

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

DecisionService::DecisionService(Documents documents, Folders folders)
    : folders_{std::move(folders)},
      documents_{std::move(documents)},
      feedback_{folders_.state},
      set_aside_{feedback_.load()} {}

Result<DecisionService::Documents> DecisionService::read(const Folders& folders) {
    Documents documents{.profiles = TRY(ProfileSet::with_builtins()),
                        .products = ProductSet::with_builtins(),
                        .rules = TRY(Rules::builtin())};
    documents.ignored = add_files(folders.profiles, kMaxProfile, "profile-ignored",
                                  [&](const std::string& text, const std::string& path) {
                                      return documents.profiles.add(text, path);
                                  });
    const auto more = add_files(folders.catalogues, kMaxManifest, "catalogue-ignored",
                                [&](std::string text, const std::string& path) {
                                    return documents.products.add(std::move(text), path);
                                });
    documents.ignored.insert(documents.ignored.end(), more.begin(), more.end());
    return documents;
}

Result<DecisionService> DecisionService::create(Folders folders) {
    auto documents = TRY(read(folders));
    return DecisionService{std::move(documents), std::move(folders)};
}

Status DecisionService::reload() {
    documents_ = TRY(read(folders_));
    return Done{};
}

std::vector<Reason> DecisionService::notes() const {
    auto notes = documents_.ignored;
    notes.insert(notes.end(), set_aside_.begin(), set_aside_.end());
    return notes;
}

/// Somebody's own product may have any name, but none that is nearly one that is known.
Status DecisionService::check_name(const std::string& consumer, bool may_be_foreign) const {
    auto known = consumers();
    const auto more = products();
    known.insert(known.end(), more.begin(), more.end());
    if (std::ranges::find(known, consumer) != known.end() ||
        (may_be_foreign && !closest(consumer, known)))
        return Done{};
    return unknown_consumer(consumer, consumers());
}

Status DecisionService::set_override(const std::string& consumer,
                                     const Value& rule,
                                     const CallerContext& by) {
    const auto change = TRY(override_rule_from(rule));
    TRY(check_name(consumer, change.request == SelectRequest{}));
    const auto* before = feedback_.overrides().find(consumer);
    const auto merged = merged_rule(before ? before->rule : Value{}, rule);
    if (merged.as_object()->empty()) {
        (void)TRY(feedback_.clear_override(consumer));
        return Done{};
    }
    // What was there before has been checked, on the machine as it was then.
    const auto product = documents_.products.find(consumer);
    TRY(check_rule(change, documents_.profiles.find(consumer), product ? &*product : nullptr,
                   by.machine));
    return feedback_.set_override(consumer, merged, by.uid, by.now);
}

Status DecisionService::report(const OutcomeReport& outcome, const CallerContext& by) {
    const bool is_backend = outcome.choice.find(':') == std::string::npos;
    TRY(check_name(outcome.consumer, !is_backend));
    if (const auto* profile = documents_.profiles.find(outcome.consumer); profile && is_backend)
        TRY(check_backend(outcome.choice, *profile));
    if (const auto product = documents_.products.find(outcome.consumer); product && !is_backend)
        TRY(check_variant(outcome.choice, *product));
    return feedback_.report(outcome, by.uid, by.machine, by.now);
}

Result<Decision> DecisionService::select(const std::string& consumer,
                                         const Value& request,
                                         const CallerContext& caller) const {
    const auto* profile = documents_.profiles.find(consumer);
    if (!profile)
        return unknown_consumer(consumer, consumers());
    auto wanted = TRY(select_request_from(request));
    if (const auto rule = feedback_.rule_for(consumer))
        wanted = under_rule(std::move(wanted), rule->request, *profile, caller.seen);
    // A product's catalogue is called as its consumer.
    const auto product = documents_.products.find(consumer);
    return gpuprobe::select(
        *profile, wanted, caller.seen,
        feedback_.experience_of(caller.uid, consumer, caller.machine, caller.now),
        product ? &*product : nullptr);
}

Result<Manifest> DecisionService::manifest_of(const std::string& product,
                                              std::string_view manifest) const {
    if (product.size() > kMaxProductName)
        return Error{ErrorCode::InvalidRequest, "product: more than 128 bytes"};
    auto found =
        manifest.empty() ? TRY(documents_.products.find(product)) : TRY(parse_manifest(manifest));
    if (found.name.empty())
        found.name = scrubbed(product, kMaxProductName);
    return found;
}

Result<Recommendation> DecisionService::recommend(const std::string& product,
                                                  std::string_view manifest,
                                                  const Value& request,
                                                  const CallerContext& caller) const {
    const auto variants = TRY(manifest_of(product, manifest));
    // Without a product the manifest's own name tells which override and failures apply.
    const auto& name = product.empty() ? variants.name : product;
    auto wanted = TRY(recommend_request_from(request));
    if (const auto rule = feedback_.rule_for(name); rule && !rule->variants.is_null())
        wanted = under_rule(std::move(wanted), TRY(recommend_request_from(rule->variants)));
    const auto* profile = documents_.profiles.find(name);
    if (const auto rule = feedback_.rule_for(name); rule && profile)
        wanted = under_backend_rule(std::move(wanted), rule->request, *profile, caller.seen);
    const auto experience = feedback_.experience_of(caller.uid, name, caller.machine, caller.now);
    auto recommendation = gpuprobe::recommend(variants, wanted, caller.seen, documents_.rules,
                                              failed_variants(experience, profile));
    if (auto stale = staleness(variants, caller.now))
        recommendation.warnings.push_back(std::move(*stale));
    return recommendation;
}

}  // namespace gpuprobe::engine
