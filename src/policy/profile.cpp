// SPDX-License-Identifier: Apache-2.0
#include "policy/profile.h"

#include "base/parse.h"
#include "base/value_json.h"
#include "policy/profile_check.h"

namespace gpuprobe {
namespace {

Error malformed(std::string_view text) {
    return Error{ErrorCode::Malformed, "profile: " + scrubbed(text)};
}

}  // namespace

Result<Profile> parse_profile(std::string_view json) {
    auto value = parse_json(json, kMaxProfileText);
    if (!value)
        return std::move(value).error().in("profile");
    auto profile = strict_record_from<Profile>(*value);
    if (!profile)
        return malformed(profile.error().text);
    if (const auto problem = profile_problem(*profile); !problem.empty())
        return malformed(problem.text());
    return profile;
}

}  // namespace gpuprobe
