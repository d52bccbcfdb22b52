// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <string>
#include <utility>
#include <vector>

#include "base/record.h"
#include "report/reason_table.h"

namespace gpuprobe::inline report {

/// How a probe ended. Each value is a valid answer that a report can contain; a probe never ends
/// with an Error.
enum class Outcome {
    Answered,  ///< the API listed all its devices, perhaps none
    Absent,    ///< library, driver or device is missing
    Failed,    ///< the API returned an error, or the worker exited without a complete answer
    TimedOut,  ///< killed at its deadline
    Crashed,   ///< ended by a signal
    Skipped,   ///< not run: asleep, quarantined, not permitted, disabled
};

constexpr std::array<EnumName<Outcome>, 6> names_of(Outcome) {
    return {{{Outcome::Answered, "answered"},
             {Outcome::Absent, "absent"},
             {Outcome::Failed, "failed"},
             {Outcome::TimedOut, "timed-out"},
             {Outcome::Crashed, "crashed"},
             {Outcome::Skipped, "skipped"}}};
}

/// Why something is the way it is: a stable code and the facts that led to it. Clients choose the
/// wording.
struct Reason {
    std::string code = {};  ///< from report/reason_table.h; perhaps unknown if from a newer version
    Value detail = Value{Value::Object{}};  ///< an object
    std::strong_ordering operator<=>(const Reason&) const = default;

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

template <class Visitor>
void describe(Visitor& visit, Reason& reason) {
    visit("code", reason.code);
    visit("detail", reason.detail);
    if constexpr (std::same_as<Visitor, RecordReader>)
        reason.code = std::string{today_for(reason.code)};
}

}  // namespace gpuprobe::inline report
