// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <memory>

#include "base/clock.h"
#include "base/event_loop.h"
#include "probe/launcher.h"
#include "probe/target.h"
#include "report/facts.h"

namespace gpuprobe {

struct ProbeLimits {
    Duration query = std::chrono::seconds{15};  ///< hard stop; SIGKILL to the group
    std::size_t concurrent = 8;                 ///< workers at a time; the rest wait
};

/// Runs probes and turns whatever happens into one ProbeResult each. It never blocks and never
/// throws: a worker that crashes, hangs, lies or floods costs its own answer only.
class Supervisor {
public:
    using Done = std::function<void(ProbeResult)>;

    Supervisor(EventLoop& loop, Launcher& launcher, const Clock& clock, ProbeLimits limits);
    ~Supervisor();

    /// Starts `target`, or queues it. `done` is called exactly once, never from within this call.
    void start(const ProbeTarget& target, Done done);
    /// Kills what runs and drops what waits; their `done` gets Outcome::Skipped with reason
    /// "cancelled".
    void cancel_all();
    [[nodiscard]] bool idle() const;

private:
    class Run;
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe
