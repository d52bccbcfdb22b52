// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "probe/launcher.h"
#include "probe/target.h"
#include "report/facts.h"

/// The frames that a worker writes to its private descriptor.
///
/// A frame consists of two little-endian 32-bit numbers (payload length and kind) and the payload,
/// one JSON object. The last frame is `done`. In `done` and `known` frames the payload is followed
/// by the CRC-32 (as defined by zlib and ISO 3309) of all earlier bytes of the stream; the payload
/// length includes this checksum. A driver may end the process with status 0, write to any
/// descriptor or damage the heap, so only a stream with correct checksums and counts is accepted as
/// an answer.

namespace gpuprobe::inline probe {

constexpr Bytes kMaxFrame = mib(1);   ///< limit for one payload
constexpr Bytes kMaxFrames = mib(8);  ///< limit for a whole stream
constexpr std::size_t kMaxFrameDevices = 256;
constexpr std::size_t kMaxFrameMembers = 4096;  ///< limit for all `runtime` frames together

enum class FrameKind : std::uint32_t {
    Phase = 1,    ///< {"name"}: the step that starts now
    Runtime = 2,  ///< facts about the API; members of later frames replace earlier members
    Device = 3,   ///< one device, as value_of(DeviceFacts) writes it
    /// {"outcome", "note", "reasons", "frames"}: the outcome, and the number of earlier frames
    Done = 4,
    Confined = 5,  ///< {"by"}: the worker's sandbox (ProbeResult::confinement)
    Known = 6,     ///< {"frames"}: all devices are listed; later Device frames only add facts
};

struct Frame {
    FrameKind kind = FrameKind::Phase;
    Value payload = {};
};

/// Encodes the frames of one stream, in the order of the calls. A frame that would exceed a limit
/// is left out (the function returns ""), so that an endless list of facts does not make the rest
/// of the answer unusable.
class FrameWriter {
public:
    [[nodiscard]] std::string phase(std::string_view name);
    [[nodiscard]] std::string runtime(const Value& facts);
    [[nodiscard]] std::string device(const DeviceFacts& facts);
    [[nodiscard]] std::string confined(const std::vector<std::string>& by);
    [[nodiscard]] std::string known();
    /// The last frame. `outcome` is Answered, Absent or Failed.
    [[nodiscard]] std::string done(Outcome outcome,
                                   const std::optional<std::string>& note,
                                   const std::vector<Reason>& reasons);

private:
    [[nodiscard]] bool fits(const std::string& payload) const;
    std::string add(FrameKind kind, const std::string& payload);
    [[nodiscard]] std::string summed(FrameKind kind, const std::string& payload) const;

    std::uint32_t sum_ = 0;
    std::uint64_t frames_ = 0;
    std::uint64_t bytes_ = 0;
    std::size_t devices_ = 0;
    std::size_t members_ = 0;
};

/// Decodes a stream as it arrives, in pieces of any size. The stream is untrusted input.
class FrameReader {
public:
    /// Adds the next bytes of the stream. Bytes after a problem are ignored.
    void feed(std::string_view bytes);
    /// The next complete frame; nullopt if more bytes are needed, and always after a problem.
    [[nodiscard]] std::optional<Frame> next();
    /// Whether a valid `done` frame arrived and nothing followed it.
    [[nodiscard]] bool is_complete() const { return done_ && !problem_; }
    /// The reason why the stream is malformed; nullopt while the stream is valid.
    [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

private:
    std::optional<Frame> fail(std::string problem);
    std::optional<Frame> take(FrameKind kind, std::string_view payload);
    /// The JSON part of a frame with a checksum; nullopt if the checksum is wrong.
    [[nodiscard]] std::optional<std::string_view> summed(std::string_view payload) const;
    /// Counts the frame and returns the reason why it can't be accepted; empty if it is accepted.
    [[nodiscard]] std::string objection(const Frame& frame);

    std::string buffer_ = {};
    std::size_t read_ = 0;  ///< bytes of buffer_ that have been decoded
    std::uint64_t bytes_ = 0;
    std::uint32_t sum_ = 0;  ///< checksum of everything before the next frame
    std::uint64_t frames_ = 0;
    std::size_t devices_ = 0;
    std::size_t members_ = 0;
    bool done_ = false;
    std::optional<std::string> problem_ = {};
};

/// The last lines that a worker printed. Drivers print the cause of a failure to stdout or stderr,
/// and some drivers never stop printing.
class OutputTail {
public:
    void add(std::string_view bytes);
    /// The last lines, scrubbed and without empty lines; at most 4 KiB and 32 lines.
    [[nodiscard]] std::vector<std::string> lines() const;

private:
    std::string tail_ = {};
};

/// How a worker's run ended, as seen from outside.
struct Ending {
    /// how the worker exited; null if the worker was killed, or if this is unknown
    std::optional<WorkerExit> exit = {};
    std::optional<Duration> missed = {};         ///< the time limit that the worker exceeded
    std::vector<std::string> output_lines = {};  ///< last lines of stdout and stderr, scrubbed
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
    /// If true, no further frames are read.
    [[nodiscard]] bool is_malformed() const {
        return reader_.problem() || bad_verdict_ || undeclared_;
    }

    /// The last phase that the worker announced; "" before the first phase.
    [[nodiscard]] const std::string& phase() const { return phase_; }

    /// The probe's result.
    /// - With a done frame: the worker's own outcome (Answered, Absent or Failed).
    /// - Without a done frame: TimedOut, Crashed or Failed, depending on how the process ended,
    ///   with the phase in the note and the facts from the complete frames that arrived.
    /// - Failed with the reason "worker-lost" if the worker was ended from outside, which is no
    ///   evidence about the driver.
    /// - Failed if the frames are malformed, however the process ended. All frames are dropped; the
    ///   caller kills the process if it still runs.
    [[nodiscard]] ProbeResult conclude(const ProbeTarget& target, const Ending& ending) const;
    /// The devices and facts known so far, as a result with the outcome Answered.
    [[nodiscard]] ProbeResult so_far(const ProbeTarget& target) const;

private:
    void add(Frame frame);
    void add_device(DeviceFacts facts);
    [[nodiscard]] ProbeResult reported(const ProbeTarget& target) const;
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
    std::optional<std::string> undeclared_ = {};  ///< the first key that isn't a declared fact
};

/// The duration as a string, for example "15 s" or "200 ms".
std::string text_of_limit(Duration limit);

}  // namespace gpuprobe::inline probe
