// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/record_type.h"
#include "base/units.h"
#include "report/reason_table.h"

namespace gpuprobe::inline report {

/// How a probe ended. Each value is a valid answer that a report can contain. A probe never returns
/// an Error.
enum class Outcome {
    Answered,  ///< the API listed all its devices, or reported that it has no device
    Absent,    ///< a library, the driver or the device is missing
    Failed,    ///< the API returned an error, or the worker exited without a complete answer
    TimedOut,  ///< the worker was killed at its deadline
    Crashed,   ///< a signal ended the worker
    Skipped,   ///< the probe was not run, for instance because the driver is in quarantine
};

constexpr std::array<EnumName<Outcome>, 6> names_of(Outcome) {
    return {{{Outcome::Answered, "answered"},
             {Outcome::Absent, "absent"},
             {Outcome::Failed, "failed"},
             {Outcome::TimedOut, "timed-out"},
             {Outcome::Crashed, "crashed"},
             {Outcome::Skipped, "skipped"}}};
}

/// The subject of a reason. Unknown members are null.
struct ReasonTarget {
    std::optional<std::string> gpu = {};   ///< a GPU's id
    std::optional<std::string> api = {};   ///< API name, such as "vulkan"
    std::optional<std::string> path = {};  ///< a device node, library or other file
};
RECORD_MEMBERS(ReasonTarget, gpu, api, path)

/// A reason in words: the description and the fix that users read. explain/reason_words.h writes
/// them for the calling user and this machine.
struct ReasonWords {
    /// One clause, without a capital letter at the beginning or a full stop at the end.
    std::string text = {};
    std::optional<std::string> fix = {};     ///< description of the fix; null if there is no fix
    std::vector<std::string> commands = {};  ///< the commands in `fix`, for a shell
    ReasonTarget subject = {};
};
RECORD_MEMBERS(ReasonWords, text, fix, commands, subject)

/// The explanation of a result: a stable code and the facts that led to the result. In answers to
/// requests, but not in the report, a reason also has messages for users.
struct Reason {
    std::string code = {};  ///< code listed in docs/reasons.md; newer versions may add codes
    Value detail = Value{Value::Object{}};  ///< details of the reason: an object
    /// The messages for users; equal reasons of an answer share one object. The comparison of two
    /// reasons ignores the messages.
    std::shared_ptr<const ReasonWords> words = {};

    std::strong_ordering operator<=>(const Reason& other) const {
        return std::tie(code, detail) <=> std::tie(other.code, other.detail);
    }
    bool operator==(const Reason& other) const {
        return code == other.code && detail == other.detail;
    }

    [[nodiscard]] bool is(ReasonCode other) const { return code == other.text(); }
    void becomes(ReasonCode other) { code = other.text(); }
};

/// Makes a reason: `because("driver-crashed", {{"driver", path}})`.
inline Reason because(ReasonCode code, Value::Object detail = {}) {
    return Reason{.code = std::string{code.text()}, .detail = Value{std::move(detail)}};
}

inline bool has_reason(const std::vector<Reason>& reasons, ReasonCode code) {
    return std::ranges::any_of(reasons, [code](const Reason& reason) { return reason.is(code); });
}
inline bool has_reason_with(const std::vector<Reason>& reasons, ReasonTraits trait) {
    return std::ranges::any_of(
        reasons, [trait](const Reason& reason) { return has_trait(reason.code, trait); });
}

/// Visits the members of a reason that hold its messages for users, which may all be missing. The
/// messages are kept only if `text` is present.
template <class Visitor>
void describe_words(Visitor& visit, Reason& reason) {
    std::optional<std::string> text;
    std::optional<std::string> fix;
    std::optional<std::vector<std::string>> commands;
    std::optional<ReasonTarget> subject;
    visit("text", text);
    visit("fix", fix);
    visit("commands", commands);
    visit("subject", subject);
    if (text)
        reason.words = std::make_shared<const ReasonWords>(
            ReasonWords{.text = std::move(*text),
                        .fix = std::move(fix),
                        .commands = std::move(commands).value_or(std::vector<std::string>{}),
                        .subject = std::move(subject).value_or(ReasonTarget{})});
}

template <class Visitor>
void describe(Visitor& visit, Reason& reason) {
    visit("code", reason.code);
    if constexpr (std::same_as<Visitor, RecordWriter>) {
        // A reason without messages for users does not have these members.
        if (reason.words)
            describe(visit, const_cast<ReasonWords&>(*reason.words));
    } else {
        describe_words(visit, reason);
    }
    visit("detail", reason.detail);
    if constexpr (std::same_as<Visitor, RecordReader>)
        reason.code = std::string{today_for(reason.code)};
}

constexpr auto forms_of(std::type_identity<Reason>) {
    // A report does not contain the messages for users.
    return std::to_array<MemberForm>({{.key = "code", .pattern = "^[a-z0-9]+(-[a-z0-9]+)*$"},
                                      {.key = "text", .is_optional = true},
                                      {.key = "fix", .is_optional = true},
                                      {.key = "commands", .is_optional = true},
                                      {.key = "subject", .is_optional = true},
                                      {.key = "detail", .object = "object"}});
}

/// Adds the path of the data file that the reason is about, unless the file is built in.
inline Reason with_path(Reason reason, const std::string& path) {
    if (!path.empty())
        reason.detail["path"] = path;
    return reason;
}

/// A `stale-document` reason: the data file `document` has expired. `path` is empty if the file is
/// built in; `issued` and `expired` are the dates in that file.
inline Reason stale_document(const std::string& document,
                             const std::string& path,
                             const std::optional<std::string>& issued,
                             const std::string& expired) {
    return with_path(
        because("stale-document",
                {{"document", document}, {"issued", to_value(issued)}, {"expired", expired}}),
        path);
}

/// A `superseded-document` reason: the data file `document` describes the version `version` of an
/// application, but the version `newer` has been released. `path` is empty if the file is built in.
inline Reason superseded_document(const std::string& document,
                                  const std::string& path,
                                  const std::optional<std::string>& version,
                                  const std::string& newer) {
    return with_path(
        because("superseded-document",
                {{"document", document}, {"version", to_value(version)}, {"newer", newer}}),
        path);
}

/// The `stale-document` reasons among a report's notes. Every answer that is based on the report
/// repeats these reasons, because the answer depends on the same data files.
inline std::vector<Reason> stale_among(const std::vector<Reason>& notes) {
    std::vector<Reason> found;
    std::ranges::copy_if(notes, std::back_inserter(found),
                         [](const Reason& note) { return note.is("stale-document"); });
    return found;
}

/// What went wrong while a driver was being probed.
enum class Harm {
    Crashed,          ///< a signal ended the worker
    TimedOut,         ///< the worker was killed at its deadline
    MachineWentDown,  ///< the machine went down; the next record is from another boot
    DaemonWentDown,   ///< the probing process disappeared within the same boot
};
constexpr std::array<EnumName<Harm>, 4> names_of(Harm) {
    return {{{Harm::Crashed, "crashed"},
             {Harm::TimedOut, "timed-out"},
             {Harm::MachineWentDown, "machine-went-down"},
             {Harm::DaemonWentDown, "daemon-went-down"}}};
}

/// A driver that gpuprobe does not probe for a while, because the driver crashed or hung in an
/// earlier probe, or took down the daemon or the machine.
struct QuarantinedProbe {
    std::string api = {};
    std::string driver = {};  ///< path of the manifest, or "" for the API's only driver
    std::string stage = "query";
    /// The probed device, for the stages "verify" and "measure".
    std::optional<std::string> device = {};
    Harm why = Harm::Crashed;  ///< what went wrong in the last probe
    std::uint32_t times = 0;   ///< number of probes that went wrong since the driver's last answer
    WallTime since = {};
    WallTime until = {};
    std::optional<std::string> note = {};  ///< note of the last probe that went wrong
    bool operator==(const QuarantinedProbe&) const = default;
};
RECORD_MEMBERS(QuarantinedProbe,
               api,
               driver,
               stage,
               device,
               why,
               times,
               ("since_usec", since),
               ("until_usec", until),
               note)

}  // namespace gpuprobe::inline report

/// The words in ProbeResult::confinement. Each word names a mechanism that can confine a driver;
/// docs/security.md explains the mechanisms.

namespace gpuprobe::confinement {

inline constexpr std::string_view kNamespaces = "namespaces";
inline constexpr std::string_view kLandlock = "landlock";  ///< followed by "-" and the ABI version
inline constexpr std::string_view kNoReachingOut = "no-reaching-out";
inline constexpr std::string_view kKnownCalls = "known-calls";

/// The mechanisms that must apply to every driver. If one of these mechanisms is missing, a driver
/// can access everything that its user can access. Namespaces aren't in this list, because the
/// systemd unit creates namespaces in another way and the other mechanisms do not depend on them.
inline constexpr std::array kWanted = {kLandlock, kNoReachingOut, kKnownCalls};

}  // namespace gpuprobe::confinement
