// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "base/event_loop.h"
#include "base/units.h"
#include "engine/machine.h"
#include "engine/probe_ledger.h"
#include "engine/system_events.h"
#include "probe/supervisor.h"

namespace gpuprobe::engine {

struct EngineOptions;  // engine.h

/// The callbacks of a caller that waits for probes. Either may be empty.
struct ProbeWaiter {
    std::function<void(double)> progress = {};  ///< gets the fraction that has ended, from 0 to 1
    std::function<void()> done = {};            ///< called once, when all of them have ended
};

/// References that the parts of the engine share. The engine owns the objects.
struct EngineContext {
    EventLoop& loop;
    const Clock& clock;
    const EngineOptions& options;
    ProbedMachine& machine;
    ProbeLedger& ledger;
    const SystemSleep& sleep;
    Supervisor& supervisor;
};

}  // namespace gpuprobe::engine
