// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <compare>

#include "base/record.h"

namespace gpuprobe {

/// How a probe ended. Each is an answer that a report carries; none is an Error.
enum class Outcome {
    Answered,  ///< the API spoke; its devices, perhaps none, are all it has
    Absent,    ///< library, driver or device is not there
    Failed,    ///< the API said no, or left without a complete answer
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

/// Why something is as it is: a stable code and the facts it rests on. Wording is the client's.
struct Reason {
    std::string code = {};
    Value detail = Value{Value::Object{}};  ///< an object
    std::strong_ordering operator<=>(const Reason&) const = default;
};

/// `because("driver-crashed", {{"driver", path}})`.
inline Reason because(std::string code, Value::Object detail = {}) {
    return Reason{.code = std::move(code), .detail = Value{std::move(detail)}};
}

template <class Visitor>
void describe(Visitor& visit, Reason& reason) {
    visit("code", reason.code);
    visit("detail", reason.detail);
}

}  // namespace gpuprobe
