// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/path_term.h"

/// Reasons why a GPU isn't used, as data files: data/knowledge/causes/*.json. docs/extending.md
/// explains how to write one, and data/schema/causes.schema.json defines the format.
namespace gpuprobe::inline policy {

/// The consequence of a finding for a user of the GPUs.
enum class Severity {
    Ok,       ///< no finding
    Info,     ///< good to know; works as intended
    Warning,  ///< something that could work does not
    Error,    ///< a GPU or its usual API can't be used
};
constexpr std::array<EnumName<Severity>, 4> names_of(Severity) {
    return {{{Severity::Ok, "ok"},
             {Severity::Info, "info"},
             {Severity::Warning, "warning"},
             {Severity::Error, "error"}}};
}

/// The explanation and fix of a cause under given conditions; the first matching remedy is used.
struct Remedy {
    std::vector<Condition> when = {};           ///< empty: always applies
    std::optional<std::string> case_name = {};  ///< added to the evidence as `case`
    std::optional<std::string> text = {};       ///< replaces the cause's text
    std::optional<std::string> fix = {};        ///< a text for people; commands follow it
    std::vector<std::string> run = {};          ///< shell commands
    /// Whether the effect of the commands is easy to undo.
    std::optional<bool> is_safe = {};
    /// Whether to run them on the host instead of in this container or sandbox.
    std::optional<bool> is_for_host = {};
};

/// The subject of causes that the doctor does not look for: their fixes are shown with a reason in
/// any place, such as a candidate that an application can't use.
constexpr std::string_view kOfAReason = "reason";

/// A cause of a finding. docs/extending.md explains the members.
struct Cause {
    std::string id = {};
    std::string of = {};  ///< "machine", "gpu", "accelerator", "device" (both) or kOfAReason
    std::vector<Path> from = {};            ///< paths to its evidence; empty: at most one finding
    std::optional<std::string> once = {};   ///< the evidence member that differs in each finding
    std::vector<Condition> when = {};       ///< conditions that must all hold
    std::vector<Condition> unless = {};     ///< conditions of which none may hold
    std::map<std::string, Path> show = {};  ///< members to add to the evidence, and their paths
    /// Ids of causes that this one explains, for the same `api`.
    std::vector<std::string> instead_of = {};
    /// Only if the device has no finding of severity Warning or above.
    std::optional<bool> is_alone = {};
    Severity severity = Severity::Info;
    /// Upper limits for the severity, each with conditions that must all hold.
    std::map<std::string, std::vector<Condition>> eased = {};
    /// Absent if the sentence belongs to a reason: the reason it is shown with, otherwise the one
    /// with the same id.
    std::optional<std::string> text = {};
    std::vector<Remedy> fixes = {};
};

/// The causes of all data files.
class Causes {
public:
    /// The causes in the data files that are in use.
    static const Causes& current();
    /// Adds a data file. Errors: Malformed, TooLarge, with the row and member at fault.
    Status add(std::string_view json);

    [[nodiscard]] const std::vector<Cause>& all() const { return causes_; }
    /// The causes that depend on a reason code, and the causes that explain one of these.
    [[nodiscard]] std::vector<const Cause*> resting_on(const std::string& code) const;
    /// The environment variables that change which GPUs a program sees, each with its effect:
    /// "hides-devices", "chooses-drivers" …
    [[nodiscard]] const std::map<std::string, std::string>& variables() const { return variables_; }
    /// Programs and paths of files whose presence reveals the environment.
    [[nodiscard]] const std::vector<std::string>& programs() const { return programs_; }
    /// Words of which a kernel log line about graphics drivers contains at least one.
    [[nodiscard]] const std::vector<std::string>& log_words() const { return log_words_; }

private:
    std::vector<Cause> causes_ = {};
    std::map<std::string, std::vector<std::size_t>> by_code_ = {};  ///< indices into causes_
    std::map<std::string, std::string> variables_ = {};
    std::vector<std::string> programs_ = {};
    std::vector<std::string> log_words_ = {};
};

}  // namespace gpuprobe::inline policy
