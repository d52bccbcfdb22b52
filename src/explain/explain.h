// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "report/machine.h"
#include "report/outcome.h"
#include "report/report.h"

/// English texts for the stable codes. Only these functions turn reasons into text, so that the
/// terminal, the JSON documents and the bus use the same words.

namespace gpuprobe::inline explain {

struct Finding;

/// The context of a reason, which decides about its fix.
struct ReasonPlace {
    /// The doctor's findings on this machine, borrowed; null if the machine is unknown.
    const std::vector<Finding>* findings = nullptr;
    const Report* machine = nullptr;  ///< borrowed; null if unknown
    std::optional<bool> is_root = {};
    std::string gpu = {};  ///< a GPU's id; empty: the one that the reason names, or any
    std::string api = {};  ///< empty: any
};

/// What helps, as text, and the commands in that text, for a shell.
struct Fix {
    std::string text = {};
    std::vector<std::string> commands = {};
};

/// A reason as text: one clause, without a capital and a full stop.
struct Explained {
    std::string text = {};
    std::optional<std::string> fix = {};     ///< the fix; absent: nothing helps
    std::vector<std::string> commands = {};  ///< the commands in `fix`
};

/// The text and the fix of a reason. A code without wording is shown unchanged, with its detail.
///
/// The fix is from the doctor's finding about the reason, else from the wording, else from a cause
/// of kind kOfAReason. If the doctor did not find the other causes that are based on the reason,
/// another reason is more specific, and this one has no fix. Without findings, it is the usual fix.
Explained explained(const Reason& reason, const ReasonPlace& place = {});

/// False if another of a candidate's reasons is final for the same GPU, such as a build without
/// kernels for it: a fix for the lesser reason would not help.
bool is_worth_a_fix(const Reason& reason, const std::vector<Reason>& all);

/// Several reasons as one text, and their fixes without duplicates.
struct ExplainedList {
    std::string text = {};
    std::vector<std::string> fixes = {};
};
ExplainedList explained(const std::vector<Reason>& reasons, const ReasonPlace& place = {});

/// The reasons for a candidate's verdict; only the verdict if it has no reasons.
ExplainedList explained(const Candidate& candidate, ReasonPlace place = {});
/// The same for a variant. For a GPU from another vendor, only that reason is given, because the
/// others follow from it.
ExplainedList explained(const VariantCandidate& candidate, const ReasonPlace& place = {});

/// Adds an item unless the list already contains it.
void add_once(std::vector<std::string>& items, const std::string& item);

/// Fills a sentence (policy/text_template.h) with the members of a reason's detail, in the formats
/// of explain/wording_table.h.
std::string filled(std::string_view pattern, const Value& detail);

/// The sentence for a code, a template; empty for an unknown code.
std::string_view sentence_of(std::string_view code);

/// How a value is formatted.
enum class ValueForm {
    Prose,        ///< on one line, printable
    CommandWord,  ///< also safe as a word of a command (explain/phrase.h)
};

/// The value of a placeholder from a reason's detail or a finding's evidence. nullopt if it is
/// unknown, or if it has to be a word of a command and can't be.
std::optional<std::string> detail_word(const Value& detail,
                                       std::string_view placeholder,
                                       const ReasonPlace& place = {},
                                       ValueForm form = ValueForm::Prose);

/// A reason why a backend can't be used, if it is worth a line.
struct Obstacle {
    std::string backend = {};  ///< "vulkan", or "vulkan, webgpu" if the reason is the same
    std::optional<std::string> gpu = {};  ///< absent: the same on every GPU, or there is no GPU
    std::size_t others = 0;               ///< number of further GPUs with the same reason
    std::string text = {};
    std::vector<std::string> fixes = {};
    bool is_uncertain = false;  ///< not known yet whether it works
};

/// The obstacles of a report, in the order of backend_names(). If a backend works on some GPU, GPUs
/// of vendors that it does not support are no obstacles. A backend that works on no GPU has at
/// least one obstacle. Backends with the same obstacle are joined. `findings` are the doctor's
/// findings for the same report.
std::vector<Obstacle> obstacles(const Report& report, const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline explain
