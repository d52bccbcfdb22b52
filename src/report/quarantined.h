// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/record.h"

namespace gpuprobe::inline report {

/// What happened while a driver was being asked.
enum class Harm {
    Crashed,          ///< the worker, by a signal
    TimedOut,         ///< the worker was killed at its deadline
    MachineWentDown,  ///< the next thing heard of this machine was another boot
    DaemonWentDown,   ///< whoever asked was gone, in the same boot
};
constexpr std::array<EnumName<Harm>, 4> names_of(Harm) {
    return {{{Harm::Crashed, "crashed"},
             {Harm::TimedOut, "timed-out"},
             {Harm::MachineWentDown, "machine-went-down"},
             {Harm::DaemonWentDown, "daemon-went-down"}}};
}

/// A driver that is not asked for now, because of what happened when it was.
struct QuarantinedProbe {
    std::string api = {};
    std::string driver = {};  ///< manifest, or "" for the API's only driver
    std::string stage = "query";
    std::optional<std::string> device = {};  ///< of "verify" and "measure": which
    Harm why = Harm::Crashed;                ///< the last time
    std::uint32_t times = 0;                 ///< harm since it last answered
    WallTime since = {};
    WallTime until = {};
    std::optional<std::string> note = {};  ///< of the probe that did it
    bool operator==(const QuarantinedProbe&) const = default;
};
RECORD_MEMBERS(QuarantinedProbe, api, driver, stage, device, why, times, ("since_usec", since),
               ("until_usec", until), note)

}  // namespace gpuprobe::inline report
