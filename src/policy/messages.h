// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/judge.h"
#include "policy/profile.h"
#include "policy/select_question.h"
#include "policy/text_template.h"

/// A consumer's own texts: what its users read where a choice has to be reported.
namespace gpuprobe::inline policy {

/// What is wrong with an entry of `Profile::messages`; nullopt when nothing is. A key is a
/// situation of docs/consumers.md, perhaps with a colon and the word that it is about.
std::optional<std::string> message_problem(std::string_view key, std::string_view text);

/// The profile's text for the word in the situation, else for the situation; nullopt when it has
/// none or a fact that it names is not known.
std::optional<std::string> message_for(const Profile& profile,
                                       std::string_view situation,
                                       std::string_view word,
                                       const FactLookup& fact);

/// What `backend` may be in a request, as a list with commas.
std::string known_requests(const Profile& profile);

/// All that messages are made of, borrowed for one call.
struct MessageScene {
    const SelectQuestion& question;
    const SelectRequest& request;
    const Report& report;
    const std::vector<Judged>& all;  ///< by our backend names
    const std::vector<std::string>& detected;
    const Decision& decision;
    bool was_given_up = false;  ///< what was asked for can't be used, and the choice is another
};

/// In the order in which a consumer would print them: about the request, about failures, about the
/// outcome.
std::vector<std::string> messages_of(const MessageScene& scene);

}  // namespace gpuprobe::inline policy
