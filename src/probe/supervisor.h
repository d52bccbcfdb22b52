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

/// Time limits and concurrency of probes.
struct ProbeLimits {
    /// After this time the caller is notified that a worker is slow.
    Duration warn = std::chrono::seconds{5};
    /// Total time of a worker from its start to its end; then its process group gets SIGKILL.
    Duration query = std::chrono::seconds{15};
    /// The same for the stages "verify" and "measure".
    Duration trial = std::chrono::seconds{30};
    std::size_t concurrent = 8;  ///< maximum number of workers at a time; the others wait
    /// A user is waiting for the answer: no driver gets double time, even if it has to load
    /// firmware first, and a driver that was too slow is not retried immediately.
    bool is_hurried = false;
    /// A worker that still exists this long after SIGKILL counts as stuck in the kernel.
    Duration stuck = std::chrono::seconds{5};
};

/// How long a driver may take: double time if it has to load firmware or wake its GPU first.
enum class Patience { Usual, Double };

/// Runs probes and turns every outcome into one ProbeResult. It never blocks and never throws. If a
/// worker crashes, hangs, sends wrong data or floods its pipes, only its own result is affected. A
/// worker that survives SIGKILL because it is stuck in the kernel is not waited for; it is reaped
/// whenever it ends. Until then, its target is not started again: the next probe of this target
/// waits, and fails as soon as the worker counts as stuck.
///
/// A worker that has answered stays until the others have answered, unless another probe needs its
/// slot. The reason: when the last process closes a driver, the driver shuts down, and the next
/// process has to wait for that and start it again. On an H200, OpenCL took 290 ms right after CUDA
/// had exited and 200 ms while CUDA was still loaded (580.159).
///
/// Reasons in the results: "worker-not-started" {problem}, "worker-stuck", "malformed-answer"
/// {problem}, and "worker-output" {lines} if the probe did not answer.
class Supervisor {
public:
    using Done = std::function<void(ProbeResult)>;
    using Answered = ProbeRun::Answered;

    /// `loop`, `launcher` and `clock` must outlive this object.
    Supervisor(EventLoop& loop, Launcher& launcher, const Clock& clock, ProbeLimits limits);
    /// Kills all workers and waits at most 0.1 s for all of them together; does not call `done`.
    ~Supervisor();

    /// Starts `target` or queues it. `done` is called exactly once, never from within this call.
    /// `answered`, if given, is called earlier: when all devices are known, and when the answer is
    /// complete but the process has not exited, which takes some drivers longer than the answer. It
    /// must not destroy this object.
    void start(const ProbeTarget& target,
               Done done,
               Patience patience = Patience::Usual,
               Answered answered = {});
    /// Sets the callback for each target whose worker has not answered after ProbeLimits::warn.
    /// `phase`: the worker's current phase.
    void on_slow(std::function<void(const ProbeTarget&, const std::string& phase)> slow);
    /// Whether no probe runs or waits.
    [[nodiscard]] bool idle() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::inline probe
