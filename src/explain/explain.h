// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/recommendation.h"
#include "report/outcome.h"

/// English for the stable codes. Reasons get their words here and nowhere else, so that the
/// terminal, the JSON documents and the bus all say the same.
namespace gpuprobe::inline explain {

/// A reason for people: one clause, without a capital and a full stop.
struct Explained {
    std::string text = {};
    std::optional<std::string> fix = {};  ///< what the reader can do about it; absent: nothing
};

/// A code without wording is shown as it is, with its detail.
Explained explained(const Reason& reason);

/// Several reasons as one text, with each fix once.
struct ExplainedList {
    std::string text = {};
    std::vector<std::string> fixes = {};
};
ExplainedList explained(const std::vector<Reason>& reasons);

/// The verdict with its reasons, or the verdict alone where there are none.
ExplainedList explained(const Candidate& candidate);
/// The same for a variant. About a GPU of another vendor it says only that, because the other
/// reasons follow from it.
ExplainedList explained(const VariantCandidate& candidate);

/// Adds an item unless the list has it already.
void add_once(std::vector<std::string>& items, const std::string& item);

/// What stands for a placeholder, without its braces; nullopt when that is unknown.
using WordLookup = std::function<std::optional<std::string>(std::string_view placeholder)>;

/// A template of explain/wording_table.h with its placeholders filled.
std::string filled(std::string_view pattern, const WordLookup& lookup);
/// The same from the members of a reason's detail.
std::string filled(std::string_view pattern, const Value& detail);

/// A placeholder's member of a reason's detail, or of a finding's evidence.
std::optional<std::string> detail_word(const Value& detail, std::string_view placeholder);

}  // namespace gpuprobe::inline explain
