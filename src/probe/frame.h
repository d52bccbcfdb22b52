// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/facts.h"

/// The frames that a worker writes to its private descriptor.
///
/// A frame consists of two little-endian 32-bit numbers (payload length and kind) and the payload,
/// one JSON object. The last frame is `done`. In `done` and `known` frames the payload is followed
/// by the CRC-32 (as defined by zlib and ISO 3309) of every byte of the stream before it; the
/// length includes it. A driver may end the process with status 0, write to any descriptor or
/// damage the heap, so only a stream with correct checksums and counts is accepted as an answer.
namespace gpuprobe::inline probe {

constexpr Bytes kMaxFrame = mib(1);   ///< one payload
constexpr Bytes kMaxFrames = mib(8);  ///< a whole stream
constexpr std::size_t kMaxFrameDevices = 256;
constexpr std::size_t kMaxFrameMembers = 4096;  ///< in all `runtime` frames together

enum class FrameKind : std::uint32_t {
    Phase = 1,     ///< {"name"}: the step that starts now
    Runtime = 2,   ///< facts about the API; members of later frames replace earlier ones
    Device = 3,    ///< value_of(DeviceFacts)
    Done = 4,      ///< {"outcome", "note", "reasons", "frames"}; frames: number of earlier frames
    Confined = 5,  ///< {"by"}: the worker's sandbox (ProbeResult::confinement)
    Known = 6,     ///< {"frames"}: all devices are listed; later Device frames add facts to them
};

struct Frame {
    FrameKind kind = FrameKind::Phase;
    Value payload = {};
};

/// Encodes the frames of one stream, in the order of the calls. A frame that would exceed a limit
/// is left out (the function returns ""), so that one endless list of facts does not cost the rest
/// of the answer.
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
    /// Why the stream is malformed; nullopt while it is valid.
    [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

private:
    std::optional<Frame> fail(std::string problem);
    std::optional<Frame> take(FrameKind kind, std::string_view payload);
    /// The JSON part of a frame with a checksum; nullopt if the checksum is wrong.
    [[nodiscard]] std::optional<std::string_view> summed(std::string_view payload) const;
    /// Counts the frame and returns why it can't be accepted; empty if it can.
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

}  // namespace gpuprobe::inline probe
