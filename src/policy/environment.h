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

/// The template with its facts; nullopt when one of them is not known.
std::optional<std::string> filled(std::string_view text, const Selection& selection);

/// The rule with its facts, whole; nullopt when one of them is not known.
std::optional<Variables> filled(const EnvironmentRule& rule, const Selection& selection);

/// What a consumer's processes look at.
struct Reach {
    std::vector<const knowledge::Reader*> readers = {};  ///< borrowed from the document
    std::set<std::string, std::less<>> variables = {};   ///< that they read or pass on
};

/// As the profile says. One that says nothing reads what the libraries below its backends do, and
/// what it sets.
Reach reach_of(const Profile& profile);

/// Whether a template of a profile's environment may name it: a fact for selectors, or "=NAME" for
/// one of the profile's answers.
bool is_environment_fact(const Profile& profile, std::string_view name);

/// What makes the consumer use exactly the selected GPUs through `backend`, as far as the facts
/// allow, and no device of any other API that it reads. With the CPU as backend: none at all.
/// `answers` are those on that selection. The profile's own rules come first.
Variables environment_of(const Profile& profile,
                         std::string_view backend,
                         const Selection& selection,
                         const Variables& answers);

/// The variables that hidden_by() knows, and what tells how to read one of them.
std::vector<std::string_view> hiding_variables();

/// A "hidden-by-environment" for each of the caller's variables that is known to keep the consumer
/// from that GPU through `backend`. `told` has the GPUs that it is told to use, and `answer` is the
/// environment that says so.
std::vector<Reason> hidden_by(const Variables& callers,
                              const Reach& reach,
                              std::string_view backend,
                              const Gpu& gpu,
                              const Selection& told,
                              const Variables& answer);

}  // namespace gpuprobe::inline policy
