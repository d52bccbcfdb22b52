// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/value.h"
#include "policy/term.h"

/// The terms of causes. Some terms are about facts ("vendor=nvidia"). Other terms apply the same
/// three-valued logic to values in the report. Such a term names the value by a path:
///
///     gpu.findings[code=no-permission].detail.node=/dev/nvidia*
///
/// A path begins with `gpu`, `accelerator` or `device` (the device being examined), with a name in
/// TermContext::roots, or with a dot (".node") for the current evidence. A path visits every item
/// of a list; `*` visits every member of an object, and "[…]" keeps the items for which a term
/// holds. A name in braces, such as "{api}", is replaced by the value of that member of the
/// evidence. A term compares the value with words, which are separated by `|` and may contain `*`
/// and `?`, or with the value of another path, which follows `$`. If a term contains no comparison,
/// it holds if its path reaches a value that isn't false, empty or 0.

namespace gpuprobe::inline policy {

/// The evidence in which paths are resolved. All pointers are borrowed.
struct TermContext {
    const Value* roots = nullptr;   ///< an object with members such as `report`, `host` and `place`
    const Value* device = nullptr;  ///< the device; null if the whole machine is examined
    /// Facts about the same machine and device as the evidence, for terms about facts.
    const Facts* facts = nullptr;
    /// the current evidence; paths that begin with a dot refer to it
    const Value* evidence = nullptr;
};

/// A value that a path reaches, and the last name that a `*` in the path matched.
struct Evidence {
    const Value* value = nullptr;
    std::string_view key = {};
};

struct PathStep;

// Steps contain terms, and terms contain steps, so some of the types below are incomplete. Members
// of incomplete types have no initializer, because libc++ would need the destructor of the
// incomplete type for an initializer.
struct Path {
    std::string root = {};  ///< first name of the path; empty if it begins at the evidence
    std::vector<PathStep> steps;
    Value text = {};  ///< the literal to which a path such as "'text" leads
};

/// A condition on the values that a path reaches.
struct PathTerm {
    Path path;
    /// `Never` means that the term tests only whether a value exists.
    Relation relation = Relation::Never;
    std::vector<std::string> words = {};
    std::vector<Path> other;  ///< at most one path, whose values replace the words
};

/// One name in a path, with the filter that follows it.
struct PathStep {
    std::string name = {};
    std::vector<PathTerm> filter = {};  ///< at most one term
};

/// A condition, such as "A and B or C or unknown". A condition holds if all its clauses hold. A
/// clause holds if at least one of its alternatives holds.
struct Condition {
    struct Clause {
        std::vector<std::variant<PathTerm, Term>> alternatives = {};
        bool takes_doubt = false;  ///< whether the clause ends in "unknown"
    };
    std::vector<Clause> clauses = {};
};

/// The following two functions parse a string from a data file.
ReadProblem read_value(const Value& value, Condition& condition);
ReadProblem read_value(const Value& value, Path& path);

/// The values that the path reaches, except nulls.
std::vector<Evidence> met_by(const Path& path, const TermContext& context);
Truth holds(const Condition& condition, const TermContext& context);
/// Whether a term of the condition is a path.
bool has_paths(const Condition& condition);
/// Whether all conditions are true; an unknown condition counts as false.
bool all_hold(const std::vector<Condition>& conditions, const TermContext& context);

/// Converts a string, number or flag to a string for comparing terms, without changing
/// the case. The result is empty for any other value.
std::string word_of(const Value& value);

// Reasons why a GPU isn't used, read from the data files data/knowledge/causes/*.json.
// docs/internals/extending.md explains how to write a cause, and data/schema/causes.schema.json
// defines the format.

/// The consequence of a finding for users of the GPUs.
enum class Severity {
    Ok,       ///< no finding
    Info,     ///< information only; everything works as intended
    Warning,  ///< something does not work although it could
    Error,    ///< a GPU or its usual API cannot be used
};
constexpr std::array<EnumName<Severity>, 4> names_of(Severity) {
    return {{{Severity::Ok, "ok"},
             {Severity::Info, "info"},
             {Severity::Warning, "warning"},
             {Severity::Error, "error"}}};
}

/// The explanation and the fix of a cause if certain conditions hold; the first remedy whose
/// conditions hold is used.
struct Remedy {
    /// conditions under which the remedy applies; if empty, the remedy always applies
    std::vector<Condition> when = {};
    /// name of the case, which is added to the evidence as the member `case`
    std::optional<std::string> case_name = {};
    std::optional<std::string> text = {};  ///< a sentence that replaces the sentence of the cause
    /// The fix as a sentence, which user interfaces show before the commands.
    std::optional<std::string> fix = {};
    std::vector<std::string> run = {};  ///< shell commands
    /// Whether the effects of the commands can easily be undone.
    std::optional<bool> is_safe = {};
    /// Whether the commands must be run on the host instead of in this container or sandbox.
    std::optional<bool> is_for_host = {};
};

/// The subject of causes that the doctor does not look for. Such a cause belongs to a reason, and
/// user interfaces show the cause's fix wherever they show the reason, for example on a candidate
/// that an application cannot use.
constexpr std::string_view kOfAReason = "reason";

/// What happens to programs that use a certain backend on a GPU with a known fault.
enum class Fault {
    Crashes,       ///< the program or the system crashes or hangs
    WrongResults,  ///< the backend computes wrong results
    Fails,         ///< the program reports an error
    Unstable,      ///< one of the effects above, in some programs or on some machines
    Slow,          ///< the backend is slower than the CPU, or slower than another backend
    Memory,        ///< programs can use less memory than the driver reports
};
constexpr std::array<EnumName<Fault>, 6> names_of(Fault) {
    return {{{Fault::Crashes, "crashes"},
             {Fault::WrongResults, "wrong-results"},
             {Fault::Fails, "fails"},
             {Fault::Unstable, "unstable"},
             {Fault::Slow, "slow"},
             {Fault::Memory, "memory"}}};
}

/// A cause of a finding. docs/internals/extending.md explains the members.
struct Cause {
    std::string id = {};
    /// The subject of the cause, which is "machine", "gpu", "accelerator", "device" (both) or
    /// kOfAReason.
    std::string of = {};
    /// Paths to the evidence; if there are no paths, the cause has at most one finding.
    std::vector<Path> from = {};
    /// The member of the evidence that must be different in each finding.
    std::optional<std::string> once = {};
    std::vector<Condition> when = {};    ///< conditions, all of which must hold
    std::vector<Condition> unless = {};  ///< conditions, none of which may hold
    /// Members that are added to the evidence, with the paths to their values.
    std::map<std::string, Path> show = {};
    /// Ids of causes that aren't reported for an `api` if this cause is reported for the same
    /// `api`.
    std::vector<std::string> instead_of = {};
    /// Whether the cause applies only to a device without warnings and errors.
    std::optional<bool> is_alone = {};
    /// gpuprobe's names for the backends that have a fault on GPUs to which the cause applies. A
    /// cause with backends is a known-bad pair, about which choices and plans also warn
    /// (policy/known_bad.h). Empty for other causes.
    std::vector<std::string> backends = {};
    std::optional<Fault> fault = {};
    Severity severity = Severity::Info;
    /// Upper limits for the severity of a finding. An upper limit applies if all its conditions
    /// hold.
    std::map<std::string, std::vector<Condition>> eased = {};
    /// The cause's sentence. If the cause has no sentence, the sentence of a reason is used: the
    /// reason with which the cause is shown or, if there is none, the reason with the same id.
    std::optional<std::string> text = {};
    std::vector<Remedy> fixes = {};
};

/// The causes in all data files.
class Causes {
public:
    /// The causes in the data files that are in use.
    static const Causes& current();
    /// Only the known-bad pairs, which are the causes that have `backends`. Decisions need only the
    /// known-bad pairs, and parsing all causes takes seven times as long.
    static const Causes& known_bad();
    /// Adds a data file. Errors: Malformed or TooLarge; the message names the row and member at
    /// fault.
    Status add(std::string_view json);

    [[nodiscard]] const std::vector<Cause>& all() const { return causes_; }
    /// The causes whose evidence has a given reason code, and the causes that explain one of these
    /// causes.
    [[nodiscard]] std::vector<const Cause*> resting_on(const std::string& code) const;
    /// The environment variables that change which GPUs a program sees, each with its effect, such
    /// as "hides-devices" or "chooses-drivers".
    [[nodiscard]] const std::map<std::string, std::string>& variables() const { return variables_; }
    /// Names of programs, and paths of files, whose existence shows in which environment this
    /// process runs.
    [[nodiscard]] const std::vector<std::string>& programs() const { return programs_; }
    /// Words for searching the kernel log; each line about a graphics driver contains at least one
    /// of these words.
    [[nodiscard]] const std::vector<std::string>& log_words() const { return log_words_; }

private:
    std::vector<Cause> causes_ = {};
    /// The values are indices into causes_.
    std::map<std::string, std::vector<std::size_t>> by_code_ = {};
    std::map<std::string, std::string> variables_ = {};
    std::vector<std::string> programs_ = {};
    std::vector<std::string> log_words_ = {};
};

}  // namespace gpuprobe::inline policy
