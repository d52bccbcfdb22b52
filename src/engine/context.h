// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/event_loop.h"
#include "engine/machine_source.h"
#include "engine/probe_ledger.h"
#include "engine/probe_results.h"
#include "engine/system_events.h"
#include "probe/supervisor.h"
#include "probe/target.h"
#include "report/machine.h"

namespace gpuprobe {

struct EngineOptions;  // engine.h

/// A machine as it was last scanned, and what its drivers have reported.
struct ProbedMachine {
    MachineSource source = {};
    Machine hardware = {};
    TargetSearch search = {};
    ProbeResults results = {};

    [[nodiscard]] const FileSystem& files() const { return *source.files; }
    /// Whether this is a capture: its results are recorded, and no probe runs.
    [[nodiscard]] bool is_replay() const { return source.recorded.has_value(); }
    /// Whether the machine still has that driver.
    [[nodiscard]] bool offers(const ProbeTarget& target) const;
    /// Scans the hardware and searches for drivers. Results of drivers that are gone are forgotten.
    void scan(const TargetFolders& folders);
    /// Brings the power state of the devices up to date.
    void refresh_power();
    /// Changes when drivers may report something else (fingerprint_of() in store/probe_cache.h).
    [[nodiscard]] std::string fingerprint() const;
};

/// Somebody who waits for probes. Either function may be absent.
struct ProbeWaiter {
    std::function<void(double)> progress = {};  ///< gets the share that has ended, from 0 to 1
    std::function<void()> done = {};
};

/// What the parts of the engine share; borrowed from it.
struct EngineContext {
    EventLoop& loop;
    const Clock& clock;
    const EngineOptions& options;
    ProbedMachine& machine;
    ProbeLedger& ledger;
    const SystemSleep& sleep;
    Supervisor& supervisor;
};

}  // namespace gpuprobe
