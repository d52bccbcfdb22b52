// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "base/event_loop.h"
#include "base/units.h"
#include "probe/launcher.h"
#include "probe/probe_run.h"
#include "probe/target.h"
#include "report/facts.h"

namespace gpuprobe::inline probe {

struct ProbeLimits {
    /// After this time the caller is told that a worker takes long.
    Duration warn = std::chrono::seconds{5};
    /// From the worker's start to its end, whatever it does in between; then SIGKILL to the group.
    Duration query = std::chrono::seconds{15};
    /// The same for the stages "verify" and "measure".
    Duration trial = std::chrono::seconds{30};
    std::size_t concurrent = 8;  ///< workers at a time; the rest wait
    /// Somebody waits: no driver gets twice the time, whatever it has to load first, and one that
    /// was too slow is not asked once more at once.
    bool is_hurried = false;
    /// A worker that lives on for this long after SIGKILL is stuck in the kernel.
    Duration stuck = std::chrono::seconds{5};
};

/// How long a driver may take: twice as long where it loads its firmware or wakes its GPU first.
enum class Patience { Usual, Double };

/// Runs probes and turns whatever happens into one ProbeResult each. It never blocks and never
/// throws: a worker that crashes, hangs, lies or floods costs its own answer only. One that
/// outlives SIGKILL, stuck in the kernel, is not waited for; it is reaped whenever it ends. Its
/// target is not started beside it: it waits, and when the worker counts as stuck it fails.
///
/// One that has answered stays until the others have, if none waits for its place: the last to
/// leave a driver takes it down, and the next would wait for that and start it again. Beside CUDA,
/// an H200's OpenCL took 290 ms where CUDA had left just before, and 200 where it had not
/// (580.159).
///
/// Reasons it gives: "worker-not-started" {problem}, "worker-stuck", "malformed-answer" {problem},
/// "worker-output" {lines} where the probe did not answer.
class Supervisor {
public:
    using Done = std::function<void(ProbeResult)>;
    using Answered = ProbeRun::Answered;

    /// `loop`, `launcher` and `clock` must outlive it.
    Supervisor(EventLoop& loop, Launcher& launcher, const Clock& clock, ProbeLimits limits);
    /// Kills what runs, and waits a tenth of a second at most for all of it; calls no `done`.
    ~Supervisor();

    /// Starts `target`, or queues it. `done` is called exactly once, never from within this call;
    /// before it `answered`, if given, where every device has been told, and where the answer is
    /// complete and the process still ends, which takes some drivers longer than their answer. It
    /// must not destroy this.
    void start(const ProbeTarget& target,
               Done done,
               Patience patience = Patience::Usual,
               Answered answered = {});
    /// `slow` gets each target whose worker has not answered after ProbeLimits::warn, and the phase
    /// that it is in.
    void on_slow(std::function<void(const ProbeTarget&, const std::string& phase)> slow);
    /// Nothing runs or waits.
    [[nodiscard]] bool idle() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::inline probe
