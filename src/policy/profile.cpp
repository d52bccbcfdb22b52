// SPDX-License-Identifier: Apache-2.0
#include "policy/profile.h"

#include "base/parse.h"
#include "policy/profile_check.h"

namespace gpuprobe::inline policy {

Result<Profile> profile_from(const Value& root) {
    auto profile = strict_record_from<Profile>(root);
    const auto problem = profile ? profile_problem(*profile).text() : profile.error().text;
    if (!problem.empty())
        return Error{ErrorCode::Malformed, "profile: " + scrubbed(problem)};
    return profile;
}

}  // namespace gpuprobe::inline policy
