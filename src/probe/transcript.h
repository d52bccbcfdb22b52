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

/// The last lines that a worker printed. Drivers print the cause of a failure there, and some
/// never stop printing.
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
    std::optional<WorkerExit> exit = {};         ///< null if it was killed, or if unknown
    std::optional<Duration> missed = {};         ///< the deadline that it missed
    std::vector<std::string> output_lines = {};  ///< end of its stdout and stderr, scrubbed
};

/// Everything that one worker has reported so far.
class Transcript {
public:
    /// Adds the next bytes from the worker's frame pipe, in pieces of any size.
    void add(std::string_view bytes);
    /// Whether the worker reported its outcome and nothing contradicts it.
    [[nodiscard]] bool is_complete() const {
        return verdict_ && reader_.is_complete() && !is_malformed();
    }
    /// Whether the worker has listed all devices (frame `known`) and nothing contradicts it.
    [[nodiscard]] bool is_known() const { return is_known_ && !is_malformed(); }
    /// Whether the frames are malformed or name a fact that report/fact_table.h does not declare.
    /// Nothing further is read.
    [[nodiscard]] bool is_malformed() const {
        return reader_.problem() || bad_verdict_ || undeclared_;
    }

    /// The last phase that the worker announced; "" before the first.
    [[nodiscard]] const std::string& phase() const { return phase_; }

    /// The probe's result.
    /// - With a done frame: the worker's own outcome (Answered, Absent or Failed).
    /// - Without one: TimedOut, Crashed or Failed, depending on how the process ended, with the
    ///   phase in the note and the facts from the complete frames that arrived.
    /// - Failed with the reason "worker-lost" if the worker was ended from outside, which means
    ///   nothing for the driver.
    /// - Failed if the frames are malformed, however the process ended. All frames are dropped; the
    ///   caller kills the process if it still runs.
    [[nodiscard]] ProbeResult conclude(const ProbeTarget& target, const Ending& ending) const;
    /// The devices and facts known so far, as a result with the outcome Answered.
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
    std::optional<std::string> undeclared_ = {};  ///< the first key that is not a declared fact
};

/// The duration as text, for example "15 s" or "200 ms".
std::string text_of_limit(Duration limit);

}  // namespace gpuprobe::inline probe
