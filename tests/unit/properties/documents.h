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

/// Every consumer and product that the program brings, and what it answers them.
namespace gpuprobe::testing_properties {

inline const std::vector<Profile>& profiles() {
    static const auto kProfiles = [] {
        const auto set = ConsumerSet::with_builtins();
        std::vector<Profile> all;
        for (const auto& name : set.consumers())
            all.push_back(*set.selection(name));
        return all;
    }();
    return kProfiles;
}

inline const Profile* profile_called(std::string_view name) {
    const auto found = std::ranges::find(profiles(), name, &Profile::name);
    return found == profiles().end() ? nullptr : &*found;
}

inline const std::vector<Manifest>& products() {
    static const auto kProducts = [] {
        const auto set = ConsumerSet::with_builtins();
        std::vector<Manifest> all;
        for (const auto& name : set.products())
            all.push_back(*set.product(name));
        return all;
    }();
    return kProducts;
}

/// Some of a list for a mixed machine, in turn, so that many machines can be tried.
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

/// The consumers that a scene or recipe is tried with.
template <class Tried>
std::vector<std::reference_wrapper<const Profile>> profiles_for(const Tried& tried) {
    return sampled(profiles(), tried.sample);
}
template <class Tried>
std::vector<std::reference_wrapper<const Manifest>> products_for(const Tried& tried) {
    return sampled(products(), tried.sample);
}

inline Decision choice(const Profile& profile,
                       const Report& report,
                       const SelectRequest& request = {}) {
    const auto product = std::ranges::find(products(), profile.name, &Manifest::name);
    auto decision =
        select(profile, request, report, {}, product == products().end() ? nullptr : &*product);
    EXPECT_TRUE(decision) << profile.name << ": " << decision.error().text;
    return decision ? std::move(decision).value() : Decision{};
}

inline Recommendation advice(const Manifest& product,
                             const Report& report,
                             const RecommendRequest& request = {}) {
    const auto* profile = profile_called(product.name);
    return recommend(
        product, request, report, Rules::current(), {},
        profile ? selection_view(*profile, {}, report, {}, &product) : SelectionView{});
}

template <class Tried>
std::vector<Recommendation> all_advice(const Tried& tried, const Report& report) {
    std::vector<Recommendation> all;
    for (const Manifest& product : products_for(tried))
        all.push_back(advice(product, report));
    return all;
}

/// The GPU of that id, or whose unit has it.
inline const Gpu* gpu_called(const Report& report, std::string_view id) {
    auto found = std::ranges::find(report.gpus, id, &Gpu::id);
    if (found == report.gpus.end())
        found = std::ranges::find(report.gpus, whole_id(id), &Gpu::id);
    return found == report.gpus.end() ? nullptr : &*found;
}

/// Our name of a backend that the consumer calls by its own.
inline std::string own_name(const Profile& profile, const std::string& word) {
    for (const auto& [backend, translation] : profile.translate)
        if (translation == word)
            return backend;
    return word;
}

}  // namespace gpuprobe::testing_properties
