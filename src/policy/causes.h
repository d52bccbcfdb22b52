// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/path_term.h"

/// Why a GPU is not used, as documents: data/knowledge/causes/*.json. docs/extending.md says how
/// one is written, data/schema/causes.schema.json has the form.
namespace gpuprobe::inline policy {

/// What a finding means to somebody who wants to use the GPUs.
enum class Severity {
    Ok,       ///< nothing was found
    Info,     ///< good to know, as it is meant to be
    Warning,  ///< something does not work that could
    Error,    ///< a GPU or its usual API can't be used
};
constexpr std::array<EnumName<Severity>, 4> names_of(Severity) {
    return {{{Severity::Ok, "ok"},
             {Severity::Info, "info"},
             {Severity::Warning, "warning"},
             {Severity::Error, "error"}}};
}

/// What is said of a cause, and what helps, where its terms hold; of several the first is meant.
struct Remedy {
    std::vector<Condition> when = {};           ///< none: always
    std::optional<std::string> case_name = {};  ///< told in the evidence as `case`
    std::optional<std::string> text = {};       ///< in place of the cause's
    std::optional<std::string> fix = {};        ///< for people; commands follow it
    std::vector<std::string> run = {};          ///< commands of a shell
    /// The commands change nothing that can't be undone as easily.
    std::optional<bool> is_safe = {};
    /// They are run on the host and not in this container or sandbox.
    std::optional<bool> is_for_host = {};
};

/// A cause that no doctor finds: its fix is told with the reason, wherever that is, as of a
/// candidate that a consumer cannot use.
constexpr std::string_view kOfAReason = "reason";

struct Cause {
    std::string id = {};
    std::string of = {};  ///< "machine", "gpu", "accelerator", "device" (both) or kOfAReason
    std::vector<Path> from = {};               ///< where its evidence is; none: one finding at most
    std::optional<std::string> once = {};      ///< a member of the evidence that differs in each
    std::vector<Condition> when = {};          ///< all of them hold
    std::vector<Condition> unless = {};        ///< none of them holds
    std::map<std::string, Path> show = {};     ///< members of the evidence, and where they are
    std::vector<std::string> instead_of = {};  ///< ids of causes that it explains, of its `api`
    std::optional<bool> is_alone = {};  ///< only where nothing graver was found on the device
    Severity severity = Severity::Info;
    /// Severities that it has at most where all of the terms hold.
    std::map<std::string, std::vector<Condition>> eased = {};
    /// None where the sentence is that of a reason: of the one that it is told with, or else of the
    /// one with the same id.
    std::optional<std::string> text = {};
    std::vector<Remedy> fixes = {};
};

class Causes {
public:
    /// The documents that are in use.
    static const Causes& current();
    /// Adds a document. Errors: Malformed, TooLarge, with the row and member at fault.
    Status add(std::string_view json);

    [[nodiscard]] const std::vector<Cause>& all() const { return causes_; }
    /// Those that rest on a reason's code, and those that explain one of these.
    [[nodiscard]] std::vector<const Cause*> resting_on(const std::string& code) const;
    /// Names of the variables that change what a program sees of the GPUs, each with what it does:
    /// "hides-devices", "chooses-drivers" …
    [[nodiscard]] const std::map<std::string, std::string>& variables() const { return variables_; }
    /// Programs, and files by their path, that say something of the place by being there.
    [[nodiscard]] const std::vector<std::string>& programs() const { return programs_; }
    /// What is in the lines of the kernel's log that are about graphics drivers: one of these.
    [[nodiscard]] const std::vector<std::string>& log_words() const { return log_words_; }

private:
    std::vector<Cause> causes_ = {};
    std::map<std::string, std::vector<std::size_t>> by_code_ = {};  ///< of causes_
    std::map<std::string, std::string> variables_ = {};
    std::vector<std::string> programs_ = {};
    std::vector<std::string> log_words_ = {};
};

}  // namespace gpuprobe::inline policy
