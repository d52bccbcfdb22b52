// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/event_loop.h"
#include "probe/launcher.h"
#include "probe/target.h"
#include "probe/transcript.h"

namespace gpuprobe::inline probe {

/// How long one worker may take, from its start. Time during which it was runnable but had no CPU
/// is added to the limit, up to twice the limit in total, because a busy machine is not the
/// driver's fault.
struct ProbePatience {
    Duration warn = {};
    Duration limit = {};
};

/// One worker from its start to its result.
///
/// A run ends when the process ends. The end of the pipes does not count, because a driver's child
/// may hold them open. A run ends early if the deadline passes, if the frames are malformed, or if
/// the process does not exit after a complete answer; the worker is then killed without waiting.
class ProbeRun {
public:
    /// Called once, from the event loop; may destroy this object. Receives the result without times
    /// and, if the worker's end has not been seen, the worker.
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

    /// Starts the worker; a failure becomes a Failed result. If the worker turns out never to have
    /// run, `launcher` is used again, so it must outlive this object.
    void begin(Launcher& launcher);
    /// Ends a worker that has answered and waits for this call.
    void let_go();
    /// Ends without starting a worker: outcome Failed with the reason `code` {problem}.
    void refuse(ReasonCode code, std::string_view problem);
    /// Stops watching and returns the worker; null if there is none. `ended` is not called.
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
    /// Reads available data, up to `pieces` times a pipe's capacity; false at end-of-file.
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
    // Declared after the worker, so that they stop watching before its descriptors close.
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

}  // namespace gpuprobe::inline probe
