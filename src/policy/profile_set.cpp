// SPDX-License-Identifier: Apache-2.0
#include "policy/profile_set.h"

#include "policy/builtin_profiles.h"

namespace gpuprobe {

std::string_view builtin_profile(std::string_view name) {
    for (const auto& profile : builtin_profiles())
        if (profile.name == name)
            return profile.json;
    return {};
}

Result<ProfileSet> ProfileSet::with_builtins() {
    ProfileSet set;
    for (const auto& profile : builtin_profiles())
        set.profiles_.emplace(profile.name, std::nullopt);
    return set;
}

Status ProfileSet::add(std::string_view json, std::string_view origin) {
    auto profile = parse_profile(json);
    if (!profile)
        return std::move(profile).error().in(origin);
    if (profiles_.size() >= kMaxProfiles && !profiles_.contains(profile->name))
        return Error{ErrorCode::TooLarge, std::string{origin} + ": more than " +
                                              std::to_string(kMaxProfiles) + " profiles"};
    auto name = profile->name;
    profiles_.insert_or_assign(std::move(name), std::move(*profile));
    return Done{};
}

const Profile* ProfileSet::find(std::string_view name) const {
    const auto found = profiles_.find(name);
    if (found == profiles_.end())
        return nullptr;
    // Tests hold each of them to being a profile of that name.
    if (auto& profile = found->second; !profile)
        if (auto parsed = parse_profile(builtin_profile(name)))
            profile = std::move(parsed).value();
    return found->second ? &*found->second : nullptr;
}

std::vector<std::string> ProfileSet::names() const {
    std::vector<std::string> names;
    for (const auto& [name, profile] : profiles_)
        names.push_back(name);
    return names;
}

}  // namespace gpuprobe
