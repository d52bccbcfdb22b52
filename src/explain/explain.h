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

/// English messages for the stable codes. Only these functions convert reasons to messages, so that
/// the terminal, the JSON documents and the bus show the same messages.

namespace gpuprobe::inline explain {

struct Finding;

/// The context of a reason, which determines the fix for the reason.
struct ReasonPlace {
    /// The doctor's findings on this machine, borrowed; null if nothing is known about the machine.
    const std::vector<Finding>* findings = nullptr;
    const Report* machine = nullptr;  ///< the report, borrowed; null if unknown
    std::optional<bool> is_root = {};
    std::string gpu = {};  ///< a GPU's id; if empty, any GPU, or the GPU that the reason names
    std::string api = {};  ///< name of an API; if empty, any API
};

/// The text of a fix, and the shell commands in that text.
struct Fix {
    std::string text = {};
    std::vector<std::string> commands = {};
};

/// A reason as text: one clause, without a capital letter at the beginning or a full stop at the
/// end.
struct Explained {
    std::string text = {};
    std::optional<std::string> fix = {};     ///< the fix; absent if there is no fix
    std::vector<std::string> commands = {};  ///< the commands in `fix`
};

/// The message and fix for a reason. A code without wording is shown unchanged, together with the
/// reason's detail.
///
/// The fix comes from the doctor's finding about the reason. If the doctor has no such finding, the
/// fix comes from the wording or, if the wording has no fix, from a cause of the kind kOfAReason.
/// If the doctor looked for causes that are based on the reason and found none, the reason has no
/// fix, because another reason is more specific. If there are no findings at all, the fix is the
/// usual fix for the reason.
Explained explained(const Reason& reason, const ReasonPlace& place = {});

/// False if another reason of the same candidate is final for the same GPU, for example because a
/// build has no kernels for that GPU. If one reason for a GPU is final, fixing the other reasons
/// would not help.
bool is_worth_a_fix(const Reason& reason, const std::vector<Reason>& all);

/// Several reasons as one message, and their fixes without duplicates.
struct ExplainedList {
    std::string text = {};
    std::vector<std::string> fixes = {};
};
ExplainedList explained(const std::vector<Reason>& reasons, const ReasonPlace& place = {});

/// The text of the reasons for a candidate's verdict; if the candidate has no reasons, only the
/// verdict.
ExplainedList explained(const Candidate& candidate, ReasonPlace place = {});
/// The text of the reasons for the verdict on a variant. For a GPU from another vendor, the result
/// contains only the reason about the vendor, because that reason causes all other reasons.
ExplainedList explained(const VariantCandidate& candidate, const ReasonPlace& place = {});

/// Adds an item unless the list already contains it.
void add_once(std::vector<std::string>& items, const std::string& item);

/// Fills in a sentence (base/text.h) with the members of a reason's detail, in the formats of
/// explain/wording_table.h.
std::string filled(std::string_view pattern, const Value& detail);

/// The template of the sentence for a code; empty for an unknown code.
std::string_view sentence_of(std::string_view code);

/// The way in which a value is formatted.
enum class ValueForm {
    Prose,        ///< printable text on one line
    CommandWord,  ///< text that is also safe as a word of a command (explain/phrase.h)
};

/// The value of a placeholder from a reason's detail or a finding's evidence; nullopt if the value
/// is unknown, or if `form` is CommandWord and the value isn't safe in a command.
std::optional<std::string> detail_word(const Value& detail,
                                       std::string_view placeholder,
                                       const ReasonPlace& place = {},
                                       ValueForm form = ValueForm::Prose);

/// A reason why a backend cannot be used, for one line of the screen.
struct Obstacle {
    std::string backend = {};  ///< names of the backends with this reason, such as "vulkan, webgpu"
    /// The id of a GPU with this reason; absent if this reason applies to every GPU, or if the
    /// machine has no GPU.
    std::optional<std::string> gpu = {};
    std::size_t others = 0;  ///< number of further GPUs with the same reason
    std::string text = {};
    std::vector<std::string> fixes = {};
    bool is_uncertain = false;  ///< whether the backend may work nevertheless
};

/// The obstacles in a report, in the order of backend_names(). If a backend works on at least one
/// GPU, GPUs from vendors that the backend does not support aren't listed as obstacles. A backend
/// that does not work on any GPU has at least one obstacle. Backends with the same obstacle share
/// one entry. `findings` are the doctor's findings for the same report.
std::vector<Obstacle> obstacles(const Report& report, const std::vector<Finding>& findings);

}  // namespace gpuprobe::inline explain
