// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "policy/fact.h"
#include "policy/profile.h"
#include "policy/selector_facts.h"

namespace gpuprobe::inline policy {

/// Whether a text of `Profile::answers` may name this fact: a fact for environments, or a machine
/// fact with underscores instead of dashes.
bool is_answer_fact(std::string_view name);

/// The profile's answers apart from the backend. An answer is left out if a predicate before the
/// matching rule is unknown or a fact in its value is unknown. `facts` are about the best chosen
/// GPU, or about the machine if no GPU was chosen.
std::map<std::string, std::string> answers_of(const Profile& profile,
                                              const Facts& facts,
                                              const Selection& selection);

}  // namespace gpuprobe::inline policy
