// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "policy/candidates.h"
#include "policy/decision.h"
#include "policy/gpu_selection.h"
#include "policy/profile.h"

namespace gpuprobe::inline policy {

/// Whether a template in `Profile::answers` may name this fact: a fact for environments, or a
/// machine fact with underscores instead of dashes.
bool is_answer_fact(std::string_view name);

/// The additional values that `Profile::answers` defines. A value is left out if it depends on an
/// unknown fact, or if a predicate of a rule before the matching rule is unknown. `facts`
/// are about the best chosen GPU, or about the machine if no GPU was chosen.
std::map<std::string, std::string> answers_of(const Profile& profile,
                                              const Facts& facts,
                                              const Selection& selection);

// The messages of an application, which users read when a choice has to be reported.

/// The error in an entry of `Profile::messages`; nullopt if the entry is valid. A key is a
/// situation from docs/data-files.md, optionally followed by a colon and the backend word.
std::optional<std::string> message_problem(std::string_view key, std::string_view text);

/// The profile's message for the situation and the word or, if the profile has none, its message
/// for the situation without a word. nullopt if the profile has neither or the message needs an
/// unknown fact.
std::optional<std::string> message_for(const Profile& profile,
                                       std::string_view situation,
                                       std::string_view word,
                                       const WordLookup& fact);

/// The accepted values of `backend` in a request, separated by commas.
std::string known_requests(const Profile& profile);

/// The inputs for messages, borrowed for one call.
struct MessageContext {
    const SelectQuestion& question;
    const SelectRequest& request;
    const Report& report;
    const std::vector<Judged>& all;  ///< candidates with gpuprobe's names for backends
    const std::vector<std::string>& detected;
    const Decision& decision;
    /// Whether another backend was chosen because the requested backend cannot be used.
    bool was_given_up = false;
};

/// The messages in the order in which an application would print them: first about the request,
/// then about failures, then about the outcome.
std::vector<std::string> messages_of(const MessageContext& context);

}  // namespace gpuprobe::inline policy
