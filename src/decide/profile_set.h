// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "decide/profile.h"

namespace gpuprobe {

/// Every profile that this program knows, by name.
class ProfileSet {
public:
    /// The profiles that are compiled in. Errors: as add(); a bug of ours.
    static Result<ProfileSet> with_builtins();

    /// Adds a profile, or replaces the one of the same name. A text that is no profile changes
    /// nothing. Errors: as parse_profile(), with `origin` in front; TooLarge over kMaxProfiles.
    Status add(std::string_view json, std::string_view origin);

    /// Null when there is none of that name. Valid until the next add().
    [[nodiscard]] const Profile* find(std::string_view name) const;
    /// Sorted.
    [[nodiscard]] std::vector<std::string> names() const;

private:
    std::map<std::string, Profile, std::less<>> profiles_ = {};
};

constexpr std::size_t kMaxProfiles = 256;

}  // namespace gpuprobe
