// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "probe/frame.h"
#include "probe/launcher.h"
#include "probe/target.h"
#include "report/facts.h"

namespace gpuprobe::inline probe {

/// The end of what a worker prints: drivers say there why they fail, and some never stop.
class OutputTail {
public:
    void add(std::string_view bytes);
    /// The last lines, scrubbed and without empty ones; at most 4 KiB and 32 lines.
    [[nodiscard]] std::vector<std::string> lines() const;

private:
    std::string tail_ = {};
};

/// How a worker's run ended, seen from outside.
struct Ending {
    std::optional<WorkerExit> exit = {};         ///< null when it was stopped, or can't be known
    std::optional<Duration> missed = {};         ///< the deadline that it missed
    std::vector<std::string> output_lines = {};  ///< the last of its stdout and stderr, scrubbed
};

/// What one worker has said so far.
class Transcript {
public:
    /// Takes the next bytes of its frames, in pieces of any size.
    void add(std::string_view bytes);
    /// Whether the worker said how it ended and nothing contradicts it.
    [[nodiscard]] bool is_complete() const {
        return verdict_ && reader_.is_complete() && !is_malformed();
    }
    /// Whether the worker said that every device has been told, and nothing contradicts it.
    [[nodiscard]] bool is_known() const { return is_known_ && !is_malformed(); }
    /// Whether its frames are not what a worker writes, or name a fact that report/fact_table.h
    /// does not declare. Nothing further is read.
    [[nodiscard]] bool is_malformed() const {
        return reader_.problem() || bad_verdict_ || undeclared_;
    }

    /// What the worker was about to do when it last said so; "" before it did.
    [[nodiscard]] const std::string& phase() const { return phase_; }

    /// The answer. Answered, Absent and Failed are the worker's own word, given in a done frame;
    /// without one it is TimedOut, Crashed or Failed by the way it ended, with the phase in the
    /// note and the whole frames that arrived; Failed, with the reason "worker-lost", where it was
    /// ended from outside, which says nothing of the driver. If the frames do not add up, all of
    /// them are dropped and the answer is Failed, whatever became of the process; it is killed for
    /// that if it still runs.
    [[nodiscard]] ProbeResult conclude(const ProbeTarget& target, const Ending& ending) const;
    /// What is_known(), as an answer.
    [[nodiscard]] ProbeResult so_far(const ProbeTarget& target) const;

private:
    void add(Frame frame);
    void add_device(DeviceFacts facts);
    [[nodiscard]] ProbeResult told(const ProbeTarget& target) const;
    void take_verdict(ProbeResult& result) const;
    void judge(const Ending& ending, ProbeResult& result) const;
    void judge_malformed(ProbeResult& result) const;
    [[nodiscard]] std::string in_phase() const;

    FrameReader reader_ = {};
    std::string phase_ = {};
    Value runtime_ = {};
    std::optional<std::vector<std::string>> confinement_ = {};
    std::vector<DeviceFacts> devices_ = {};
    std::optional<ProbeResult> verdict_ = {};
    bool is_known_ = false;
    bool bad_verdict_ = false;
    std::optional<std::string> undeclared_ = {};  ///< the first key that no fact has
};

/// "15 s" or "200 ms".
std::string text_of_limit(Duration limit);

}  // namespace gpuprobe::inline probe
