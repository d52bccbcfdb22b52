// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "policy/application_set.h"
#include "policy/manifest.h"
#include "policy/recommend.h"
#include "policy/select.h"
#include "report/compute_view.h"

/// Every application and manifest in the knowledge base, and the answers for them.
namespace gpuprobe::testing_properties {

inline const std::vector<Profile>& profiles() {
    static const auto kProfiles = [] {
        const auto set = ApplicationSet::with_builtins();
        std::vector<Profile> all;
        for (const auto& name : set.applications())
            all.push_back(*set.selection(name));
        return all;
    }();
    return kProfiles;
}

inline const Profile* profile_called(std::string_view name) {
    const auto found = std::ranges::find(profiles(), name, &Profile::name);
    return found == profiles().end() ? nullptr : &*found;
}

inline const std::vector<Manifest>& manifests() {
    static const auto kManifests = [] {
        const auto set = ApplicationSet::with_builtins();
        std::vector<Manifest> all;
        for (const auto& name : set.manifests())
            all.push_back(*set.manifest(name));
        return all;
    }();
    return kManifests;
}

/// A few items of a list for a mixed machine. Each machine gets other items, so that many machines
/// can be tested in a short time.
template <class T>
std::vector<std::reference_wrapper<const T>> sampled(const std::vector<T>& all,
                                                     const std::optional<std::uint64_t>& seed) {
    constexpr std::size_t kSome = 2;
    std::vector<std::reference_wrapper<const T>> some;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (!seed || (i + kSome * *seed) % all.size() < kSome)
            some.push_back(all[i]);
    return some;
}

/// The applications with which a machine or recipe is tested.
template <class Tried>
std::vector<std::reference_wrapper<const Profile>> profiles_for(const Tried& tried) {
    return sampled(profiles(), tried.sample);
}
template <class Tried>
std::vector<std::reference_wrapper<const Manifest>> applications_for(const Tried& tried) {
    return sampled(manifests(), tried.sample);
}

inline Decision choice(const Profile& profile,
                       const Report& report,
                       const SelectRequest& request = {}) {
    const auto application = std::ranges::find(manifests(), profile.name, &Manifest::name);
    auto decision = select(profile, request, report, {},
                           application == manifests().end() ? nullptr : &*application);
    EXPECT_TRUE(decision) << profile.name << ": " << decision.error().text;
    return decision ? std::move(decision).value() : Decision{};
}

inline Recommendation advice(const Manifest& application,
                             const Report& report,
                             const RecommendRequest& request = {}) {
    const auto* profile = profile_called(application.name);
    return recommend(application, request, report, Rules::current(), {},
                     profile ? selection_view(*profile, {}, report) : SelectionView{});
}

template <class Tried>
std::vector<Recommendation> all_advice(const Tried& tried, const Report& report) {
    std::vector<Recommendation> all;
    for (const Manifest& application : applications_for(tried))
        all.push_back(advice(application, report));
    return all;
}

/// The GPU that has that id, or that has a partition with that id.
inline const Gpu* gpu_called(const Report& report, std::string_view id) {
    auto found = std::ranges::find(report.gpus, id, &Gpu::id);
    if (found == report.gpus.end())
        found = std::ranges::find(report.gpus, whole_id(id), &Gpu::id);
    return found == report.gpus.end() ? nullptr : &*found;
}

/// gpuprobe's name for the backend that an application calls `word`.
inline std::string own_name(const Profile& profile, const std::string& word) {
    for (const auto& [backend, translation] : profile.translate)
        if (translation == word)
            return backend;
    return word;
}

}  // namespace gpuprobe::testing_properties
