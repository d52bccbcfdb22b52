// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/record.h"
#include "base/units.h"

namespace gpuprobe::inline report {

/// What went wrong while a driver was being probed.
enum class Harm {
    Crashed,          ///< a signal ended the worker
    TimedOut,         ///< the worker was killed at its deadline
    MachineWentDown,  ///< the machine went down: the next record is from another boot
    DaemonWentDown,   ///< the probing process disappeared within the same boot
};
constexpr std::array<EnumName<Harm>, 4> names_of(Harm) {
    return {{{Harm::Crashed, "crashed"},
             {Harm::TimedOut, "timed-out"},
             {Harm::MachineWentDown, "machine-went-down"},
             {Harm::DaemonWentDown, "daemon-went-down"}}};
}

/// A driver that is not probed for a while because an earlier probe of it did harm.
struct QuarantinedProbe {
    std::string api = {};
    std::string driver = {};  ///< manifest, or "" for the API's only driver
    std::string stage = "query";
    std::optional<std::string> device = {};  ///< the probed device; for "verify" and "measure"
    Harm why = Harm::Crashed;                ///< most recent harm
    std::uint32_t times = 0;                 ///< number of harmful probes since the last answer
    WallTime since = {};
    WallTime until = {};
    std::optional<std::string> note = {};  ///< note of the harmful probe
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
