// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/profile.h"

namespace gpuprobe {

/// Every profile that this program knows, by name.
class ProfileSet {
public:
    /// The profiles that are compiled in. Each is parsed when it is first asked for: a program asks
    /// for one of them, most often.
    static Result<ProfileSet> with_builtins();

    /// Adds a profile, or replaces the one of the same name. A text that is no profile changes
    /// nothing. Errors: as parse_profile(), with `origin` in front; TooLarge over kMaxProfiles.
    Status add(std::string_view json, std::string_view origin);

    /// Null when there is none of that name. Valid until the next add(). Not for several threads at
    /// once.
    [[nodiscard]] const Profile* find(std::string_view name) const;
    /// Sorted.
    [[nodiscard]] std::vector<std::string> names() const;

private:
    /// nullopt: compiled in and not parsed yet.
    mutable std::map<std::string, std::optional<Profile>, std::less<>> profiles_ = {};
};

constexpr std::size_t kMaxProfiles = 256;

}  // namespace gpuprobe
