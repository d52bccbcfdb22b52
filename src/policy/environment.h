// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/selectors.h"
#include "policy/profile.h"
#include "policy/selector_facts.h"
#include "policy/text_template.h"

namespace gpuprobe::inline policy {

using Variables = std::map<std::string, std::string>;

/// The template with its facts filled in; nullopt if one of them is unknown.
std::optional<std::string> filled(std::string_view text, const Selection& selection);

/// The rule with all its facts filled in; nullopt if one of them is unknown.
std::optional<Variables> filled(const EnvironmentRule& rule, const Selection& selection);

/// The environment that an application's processes read.
struct Reach {
    std::vector<const knowledge::Reader*> readers = {};  ///< borrowed from the data file
    std::set<std::string, std::less<>> variables = {};   ///< variables that they read or forward
};

/// The environment that the profile declares. Without a declaration: the variables read by the
/// libraries below its backends, and those that the profile sets.
Reach reach_of(const Profile& profile);

/// Whether a template in the profile's environment may name this: a selector fact, or "=NAME" for
/// an answer in the profile.
bool is_environment_fact(const Profile& profile, std::string_view name);

/// The variables that restrict the application to exactly the selected GPUs through `backend`, as
/// far as the facts allow, and to no device of any other API that it reads. With the CPU as
/// backend, they hide every device. `answers` are the answers for that selection. The profile's
/// rules take precedence.
Variables environment_of(const Profile& profile,
                         std::string_view backend,
                         const Selection& selection,
                         const Variables& answers);

/// The variables that hidden_by() evaluates, and CUDA_DEVICE_ORDER, which affects how they are
/// interpreted.
std::vector<std::string_view> hiding_variables();

/// A `hidden-by-environment` for each caller variable that is known to hide the GPU from the
/// application through `backend`. `told` contains the GPUs that the application should use, and
/// `answer` the environment that selects them.
std::vector<Reason> hidden_by(const Variables& callers,
                              const Reach& reach,
                              std::string_view backend,
                              const Gpu& gpu,
                              const Selection& told,
                              const Variables& answer);

}  // namespace gpuprobe::inline policy
