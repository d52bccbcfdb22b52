// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/recommendation.h"
#include "report/machine.h"
#include "report/outcome.h"

/// English for the stable codes. Reasons get their words here and nowhere else, so that the
/// terminal, the JSON documents and the bus all say the same.
namespace gpuprobe::inline explain {

struct Finding;

/// Where a reason is told, on which depends what helps against it.
struct ReasonPlace {
    /// What the doctor found on this machine, borrowed; null where nothing is known of one.
    const std::vector<Finding>* findings = nullptr;
    const Host* host = nullptr;  ///< likewise the machine
    std::optional<bool> is_root = {};
    std::string gpu = {};  ///< its id; empty: the one that the reason names, or any
    std::string api = {};  ///< empty: any
};

/// A reason for people: one clause, without a capital and a full stop.
struct Explained {
    std::string text = {};
    std::optional<std::string> fix = {};  ///< what the reader can do about it; absent: nothing
};

/// A code without wording is shown as it is, with its detail. The fix is that of the doctor's
/// finding about it, or of a cause that is told with the reason alone. Where another cause rests on
/// the reason and was not found, another reason says more, and this one has no fix; without
/// findings it has what usually helps.
Explained explained(const Reason& reason, const ReasonPlace& place = {});

/// Several reasons as one text, with each fix once.
struct ExplainedList {
    std::string text = {};
    std::vector<std::string> fixes = {};
};
ExplainedList explained(const std::vector<Reason>& reasons, const ReasonPlace& place = {});

/// The verdict with its reasons, or the verdict alone where there are none.
ExplainedList explained(const Candidate& candidate, ReasonPlace place = {});
/// The same for a variant. About a GPU of another vendor it says only that, because the other
/// reasons follow from it.
ExplainedList explained(const VariantCandidate& candidate, const ReasonPlace& place = {});

/// Adds an item unless the list has it already.
void add_once(std::vector<std::string>& items, const std::string& item);

/// What stands in a text for a placeholder that nothing is known of.
constexpr std::string_view kNothingKnown = "?";

/// What stands for a placeholder, without its braces; nullopt when that is unknown.
using WordLookup = std::function<std::optional<std::string>(std::string_view placeholder)>;

/// A template of explain/wording_table.h with its placeholders filled.
std::string filled(std::string_view pattern, const WordLookup& lookup);
/// The same from the members of a reason's detail.
std::string filled(std::string_view pattern, const Value& detail);

/// The sentence of a reason, a template; empty where there is no such reason.
std::string_view sentence_of(std::string_view code);

/// How a value is written into a text.
enum class ValueForm {
    Prose,        ///< on one line, printable
    CommandWord,  ///< likewise, and safe in a command (explain/shell_quote.h): in fixes and
                  ///< commands
};

/// The value of a placeholder from a reason's detail or a finding's evidence. nullopt if it is not
/// known, or cannot be a word of a command where it has to be one.
std::optional<std::string> detail_word(const Value& detail,
                                       std::string_view placeholder,
                                       const ReasonPlace& place = {},
                                       ValueForm form = ValueForm::Prose);

}  // namespace gpuprobe::inline explain
