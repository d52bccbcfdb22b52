// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "policy/fact.h"
#include "policy/profile.h"
#include "policy/selector_facts.h"

namespace gpuprobe::inline policy {

/// Whether a text of `Profile::answers` may name this fact: one for environments, or a machine fact
/// with underscores for its dashes.
bool is_answer_fact(std::string_view name);

/// What the profile answers beside the backend. An answer whose rules can't be told, because a
/// predicate before the one that holds is not known or a fact of the value is not, is left out.
/// `facts` are of the best chosen GPU, or of the machine.
std::map<std::string, std::string> answers_of(const Profile& profile,
                                              const Facts& facts,
                                              const Selection& selection);

}  // namespace gpuprobe::inline policy
