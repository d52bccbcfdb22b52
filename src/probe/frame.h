// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "report/facts.h"

/// What a worker writes to its private descriptor.
///
/// A frame is two little-endian 32-bit numbers, the payload's length and its kind, and the payload:
/// one JSON object. The last frame is `done`; its payload is followed, within the frame, by the
/// CRC-32 (as zlib and ISO 3309 define it) of every byte of the stream before it, and so is that of
/// `known`. A driver may end the process with status 0, write to any descriptor or damage the heap:
/// only a stream that adds up is an answer.
namespace gpuprobe::inline probe {

constexpr Bytes kMaxFrame = mib(1);   ///< one payload
constexpr Bytes kMaxFrames = mib(8);  ///< a whole stream
constexpr std::size_t kMaxFrameDevices = 256;
constexpr std::size_t kMaxFrameMembers = 4096;  ///< of all `runtime` frames together

enum class FrameKind : std::uint32_t {
    Phase = 1,     ///< {"name"}: what is about to happen
    Runtime = 2,   ///< facts about the API; members of later frames replace earlier ones
    Device = 3,    ///< value_of(DeviceFacts)
    Done = 4,      ///< {"outcome", "note", "reasons", "frames"}: how many frames came before
    Confined = 5,  ///< {"by"}: what holds the worker (ProbeResult::confinement)
    Known = 6,     ///< {"frames"}: every device has been told; what follows of one adds to it
};

struct Frame {
    FrameKind kind = FrameKind::Phase;
    Value payload = {};
};

/// Makes the bytes of one stream, in the order of the calls. What would break a limit is left out:
/// one endless list of facts must not cost the rest of the answer.
class FrameWriter {
public:
    [[nodiscard]] std::string phase(std::string_view name);
    [[nodiscard]] std::string runtime(const Value& facts);
    [[nodiscard]] std::string device(const DeviceFacts& facts);
    [[nodiscard]] std::string confined(const std::vector<std::string>& by);
    [[nodiscard]] std::string known();
    /// The last one. `outcome` is Answered, Absent or Failed.
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

/// Takes a stream apart as it arrives, in pieces of any size. Trusts nothing in it.
class FrameReader {
public:
    /// Takes the next bytes of the stream. Bytes after a problem are ignored.
    void feed(std::string_view bytes);
    /// The next whole frame; nullopt until more bytes arrive, and for ever after a problem.
    [[nodiscard]] std::optional<Frame> next();
    /// Whether `done` arrived, adds up, and nothing followed it.
    [[nodiscard]] bool is_complete() const { return done_ && !problem_; }
    /// Why the stream is not what a worker writes; nullopt while it may be.
    [[nodiscard]] const std::optional<std::string>& problem() const { return problem_; }

private:
    std::optional<Frame> fail(std::string problem);
    std::optional<Frame> take(FrameKind kind, std::string_view payload);
    /// The JSON part of a frame with a sum; nullopt when the sum is wrong.
    [[nodiscard]] std::optional<std::string_view> summed(std::string_view payload) const;
    /// Why this frame may not stand here; empty when it may.
    [[nodiscard]] std::string objection(const Frame& frame);

    std::string buffer_ = {};
    std::size_t read_ = 0;  ///< bytes of buffer_ that were taken
    std::uint64_t bytes_ = 0;
    std::uint32_t sum_ = 0;  ///< of everything before the next frame
    std::uint64_t frames_ = 0;
    std::size_t devices_ = 0;
    std::size_t members_ = 0;
    bool done_ = false;
    std::optional<std::string> problem_ = {};
};

}  // namespace gpuprobe::inline probe
