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

/// How long one worker may take, from its start. Time in which it was ready to run and had no
/// processor is added to the limit, up to as much again: a busy machine is no fault of a driver.
struct ProbePatience {
    Duration warn = {};
    Duration limit = {};
};

/// One worker from its start to its result.
///
/// It ends with the process, not with the pipes: a driver's child may hold those open. It ends
/// early when the deadline passes, when the frames are malformed, or when the process stays on
/// after a complete answer; the worker is then killed and not waited for.
class ProbeRun {
public:
    /// `ended` is called once, from the loop; it may destroy this. It gets the result without times
    /// and, when the worker has not been seen to end, the worker.
    using Ended = std::function<void(ProbeResult, std::unique_ptr<Worker>)>;

    /// Called once where there is no answer yet after `warn`, with the phase.
    using Slow = std::function<void(const std::string&)>;

    /// Called where every device has been told, and again where the answer is complete, before the
    /// process has ended: with the result as it will be, but for what is added and for how the
    /// process ends. It must not destroy this.
    using Answered = std::function<void(ProbeResult, bool is_whole)>;

    ProbeRun(EventLoop& loop,
             ProbeTarget target,
             ProbePatience patience,
             Slow slow,
             Answered answered,
             Ended ended);

    /// Starts the worker. A failure to do so is a result too. `launcher` is asked again where the
    /// worker never ran.
    void begin(Launcher& launcher);
    /// Lets a worker end that has answered and stays until then.
    void let_go();
    /// Ends in a Failed result without having started, with the reason `code` {problem}.
    void refuse(ReasonCode code, std::string_view problem);
    /// Stops watching and gives up the worker, null when there is none. `ended` is not called.
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
    /// Reads what is there, up to that many pieces of a pipe's capacity; false at end-of-file.
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
    // Below the worker, so that they stop watching before its descriptors close.
    EventHandle frames_source_ = {};
    EventHandle output_source_ = {};
    EventHandle ended_source_ = {};
    EventHandle deadline_ = {};
    Duration extension_ = {};  ///< of the deadline, so far
    EventHandle warning_ = {};
    EventHandle refusal_ = {};
    bool is_known_ = false;     ///< `answered` has been told so
    bool is_answered_ = false;  ///< the same
    EventHandle letting_go_ = {};
    EventHandle grace_ = {};  ///< for a process that stays on after its answer
};

}  // namespace gpuprobe::inline probe
