// SPDX-License-Identifier: Apache-2.0
#include "decide/profile_set.h"

#include "decide/builtin_profiles.h"

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
        TRY(set.add(profile.json, profile.name));
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
    return found == profiles_.end() ? nullptr : &found->second;
}

std::vector<std::string> ProfileSet::names() const {
    std::vector<std::string> names;
    for (const auto& [name, profile] : profiles_)
        names.push_back(name);
    return names;
}

}  // namespace gpuprobe
