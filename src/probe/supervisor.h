// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/event_loop.h"
#include "base/units.h"
#include "probe/launcher.h"
#include "probe/target.h"
#include "probe/worker_answer.h"
#include "report/facts.h"

namespace gpuprobe::inline probe {

/// The time that one worker may take, counted from its start. Time during which the worker was
/// runnable but had no CPU is added to the limit, up to twice the limit in total, so that a driver
/// does not fail only because the machine is busy.
struct ProbePatience {
    Duration warn = {};
    Duration limit = {};
};

/// One worker from its start to its result.
///
/// A run ends when the process ends. The end of the pipes does not end a run, because a driver's
/// child may hold the pipes open. A run ends early if the deadline passes, if the frames are
/// malformed, or if the process does not exit after a complete answer; the worker is then killed
/// without waiting.
class ProbeRun {
public:
    /// Called once, from the event loop; may destroy this object. Receives the result without
    /// times, and the worker if it isn't known to have ended.
    using Ended = std::function<void(ProbeResult, std::unique_ptr<Worker>)>;

    /// Called once, with the current phase, if there is no answer after ProbePatience::warn.
    using Slow = std::function<void(const std::string&)>;

    /// Called when all devices are known (`is_whole` false) and when the answer is complete
    /// (`is_whole` true), both before the process has ended. The result may still get more facts
    /// and the exit status. Must not destroy this object.
    using Answered = std::function<void(ProbeResult, bool is_whole)>;

    ProbeRun(EventLoop& loop,
             ProbeTarget target,
             ProbePatience patience,
             Slow slow,
             Answered answered,
             Ended ended);

    /// Starts the worker; a failure becomes a Failed result. If it turns out that the worker has
    /// never run, `launcher` is used again, so `launcher` must outlive this object.
    void begin(Launcher& launcher);
    /// Ends a worker that has answered and waits for this call.
    void let_go();
    /// Ends the run without starting a worker. The outcome is Failed, with the reason `code`
    /// {problem}.
    void refuse(ReasonCode code, std::string_view problem);
    /// Stops watching and returns the worker; null if there is none. `ended` isn't called.
    [[nodiscard]] std::unique_ptr<Worker> abandon();

    [[nodiscard]] const ProbeTarget& target() const { return target_; }
    [[nodiscard]] MonotonicTime started() const { return started_; }

private:
    [[nodiscard]] bool watch_worker();
    void on_frames();
    void on_output();
    void on_ended();
    [[nodiscard]] bool extends_deadline();
    void on_deadline();
    void on_slow();
    /// Reads available data, up to `pieces` times a pipe's capacity. Returns false at end-of-file.
    [[nodiscard]] bool read_frames(int pieces);
    [[nodiscard]] bool read_output();
    void finish(const Ending& ending);
    void end(ProbeResult result, std::unique_ptr<Worker> worker);

    EventLoop& loop_;
    ProbeTarget target_;
    ProbePatience patience_;
    Launcher* launcher_ = nullptr;
    Slow slow_;
    Answered answered_;
    Ended ended_;
    MonotonicTime started_ = {};
    std::unique_ptr<Worker> worker_ = {};
    Transcript transcript_ = {};
    OutputTail output_ = {};
    // The event sources are declared after the worker, so they stop watching before the worker's
    // descriptors are closed.
    EventHandle frames_source_ = {};
    EventHandle output_source_ = {};
    EventHandle ended_source_ = {};
    EventHandle deadline_ = {};
    Duration extension_ = {};  ///< time added to the deadline so far
    EventHandle warning_ = {};
    EventHandle refusal_ = {};
    bool is_known_ = false;     ///< `answered` was called for the known devices
    bool is_answered_ = false;  ///< `answered` was called for the complete answer
    EventHandle letting_go_ = {};
    EventHandle grace_ = {};  ///< limit for a process that does not exit after its answer
};

/// Time limits and concurrency of probes.
struct ProbeLimits {
    /// After this time the caller is notified that a worker is slow.
    Duration warn = std::chrono::seconds{5};
    /// The time limit for a worker from its start to its end. After this time, the worker's process
    /// group gets SIGKILL.
    Duration query = std::chrono::seconds{15};
    /// The time limit for a worker in the stages "verify" and "measure".
    Duration trial = std::chrono::seconds{30};
    std::size_t concurrent = 8;  ///< maximum number of workers at a time; the others wait
    /// Whether a user is waiting for the answer. If a user is waiting, no driver gets double time,
    /// even if it has to load firmware first, and a driver that was too slow isn't retried
    /// immediately.
    bool is_hurried = false;
    /// A worker that still exists this long after SIGKILL counts as stuck in the kernel.
    Duration stuck = std::chrono::seconds{5};
};

/// The time that a driver may take. A driver gets double time if it has to load firmware or wake
/// its GPU first.
enum class Patience { Usual, Double };

/// Runs probes and converts every outcome to a ProbeResult. The supervisor never blocks and never
/// throws. If a worker crashes, hangs, sends wrong data or floods its pipes, only its own result is
/// affected. The supervisor does not wait for a worker that survives SIGKILL because it is stuck in
/// the kernel; the worker is reaped when it ends. Until the worker ends, its target isn't started
/// again: the next probe of this target waits, and fails as soon as the worker counts as stuck.
///
/// A worker that has answered stays until the other workers have answered, unless another probe
/// needs its slot. This saves time: when the last process closes a driver, the driver shuts down,
/// and the next process has to wait for the shutdown and start the driver again. On an H200, OpenCL
/// took 290 ms right after CUDA had exited and 200 ms while CUDA was still loaded (580.159).
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
    /// complete but the process has not exited, because some drivers need more time to exit than to
    /// answer. `answered` must not destroy this object.
    void start(const ProbeTarget& target,
               Done done,
               Patience patience = Patience::Usual,
               Answered answered = {});
    /// Sets the callback for each target whose worker has not answered after ProbeLimits::warn.
    /// `phase`: the worker's current phase.
    void on_slow(std::function<void(const ProbeTarget&, const std::string& phase)> slow);
    /// Whether no probe is running or waiting.
    [[nodiscard]] bool idle() const;

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace gpuprobe::inline probe
