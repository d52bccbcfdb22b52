// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/record.h"
#include "policy/profile.h"

namespace gpuprobe::inline policy {

/// What a profile says that none may say: words, limits and contradictions of docs/consumers.md,
/// with the member at fault. Empty when nothing is wrong.
ReadProblem profile_problem(const Profile& profile);

}  // namespace gpuprobe::inline policy
