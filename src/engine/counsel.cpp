// SPDX-License-Identifier: Apache-2.0
#include "engine/counsel.h"

#include <algorithm>
#include <iterator>

#include "base/parse.h"
#include "base/suggestion.h"
#include "engine/profile_folders.h"
#include "policy/select.h"

namespace gpuprobe {

namespace {

Error unknown_consumer(const std::string& name, const std::vector<std::string>& known) {
    return {ErrorCode::UnknownConsumer,
            "no consumer '" + scrubbed(name, 64) + "'" + suggestion(name, known)};
}

}  // namespace

Counsel::Counsel(ProfileSet profiles, Recommender recommender, Folders folders)
    : folders_{std::move(folders)},
      profiles_{std::move(profiles)},
      recommender_{std::move(recommender)},
      advice_{folders_.state} {
    read_folders();
    set_aside_ = advice_.load();
}

void Counsel::read_folders() {
    ignored_ = add_profiles_of(folders_.profiles, profiles_);
    std::ranges::move(recommender_.add_folders(folders_.catalogues), std::back_inserter(ignored_));
}

Status Counsel::reload() {
    auto profiles = TRY(ProfileSet::with_builtins());
    auto recommender = TRY(Recommender::create());
    profiles_ = std::move(profiles);
    recommender_ = std::move(recommender);
    read_folders();
    return Done{};
}

std::vector<Reason> Counsel::notes() const {
    auto notes = ignored_;
    notes.insert(notes.end(), set_aside_.begin(), set_aside_.end());
    return notes;
}

Result<Counsel> Counsel::create(const Folders& folders) {
    auto profiles = TRY(ProfileSet::with_builtins());
    auto recommender = TRY(Recommender::create());
    return Counsel{std::move(profiles), std::move(recommender), folders};
}

Result<Decision> Counsel::select(const std::string& consumer,
                                 const Value& request,
                                 const Asker& asker) const {
    const auto* profile = profiles_.find(consumer);
    if (!profile)
        return unknown_consumer(consumer, consumers());
    auto wanted = TRY(select_request_from(request));
    if (const auto rule = advice_.rule_for(consumer))
        wanted = under_rule(std::move(wanted), rule->request, *profile, asker.seen);
    const auto experience = advice_.experience_of(asker.uid, consumer, asker.machine, asker.now);
    return gpuprobe::select(*profile, wanted, asker.seen, experience);
}

Result<Recommendation> Counsel::recommend(const std::string& product,
                                          std::string_view manifest,
                                          const Value& request,
                                          const Asker& asker) const {
    const auto variants = TRY(recommender_.variants_of(product, manifest));
    // A manifest that says whose it is need not be told: what is known of that product holds for
    // it.
    const auto& name = product.empty() ? variants.name : product;
    const auto rule = advice_.rule_for(name).value_or(OverrideRule{});
    const auto experience = advice_.experience_of(asker.uid, name, asker.machine, asker.now);
    return recommender_.recommend(
        variants, request,
        {.report = asker.seen, .rule = rule.variants, .experience = experience, .now = asker.now});
}

}  // namespace gpuprobe
