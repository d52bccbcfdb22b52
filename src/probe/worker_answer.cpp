// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_answer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <zlib.h>

#include "base/process.h"
#include "base/text.h"
#include "base/value.h"
#include "probe/worker_reaper.h"
#include "report/fact_table.h"

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kHeader = 8;                      // length and kind of a frame
constexpr std::size_t kSum = 4;                         // CRC-32
constexpr std::uint64_t kDoneReserve = kib(256).count;  // kept free for the last frame
constexpr std::size_t kMaxPhase = 64;
constexpr std::size_t kMaxNote = 1024;
constexpr std::size_t kMaxReasons = 64;

/// Extends the checksum `sum` over `bytes`.
std::uint32_t extended(std::uint32_t sum, std::string_view bytes) {
    const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
    return static_cast<std::uint32_t>(crc32(sum, data, static_cast<uInt>(bytes.size())));
}

/// The number as four little-endian bytes.
std::string number_bytes(std::uint32_t number) {
    std::string bytes;
    for (int shift = 0; shift < 32; shift += 8)
        bytes.push_back(static_cast<char>((number >> shift) & 0xFFU));
    return bytes;
}

/// The inverse of number_bytes().
std::uint32_t number_at(std::string_view bytes, std::size_t offset) {
    std::uint32_t number = 0;
    for (std::size_t i = 0; i < 4; ++i)
        number |= std::uint32_t{static_cast<unsigned char>(bytes[offset + i])} << (8 * i);
    return number;
}

bool has_sum(FrameKind kind) {
    return kind == FrameKind::Done || kind == FrameKind::Known;
}

std::string header(std::size_t length, FrameKind kind) {
    return number_bytes(static_cast<std::uint32_t>(length)) +
           number_bytes(static_cast<std::uint32_t>(kind));
}

std::string done_payload(Outcome outcome,
                         const std::optional<std::string>& note,
                         const std::vector<Reason>& reasons,
                         std::uint64_t frames) {
    Value done;
    done["outcome"] = to_value(outcome);
    done["note"] = note ? Value{scrubbed(*note, kMaxNote)} : Value{};
    done["reasons"] = to_value(reasons);
    done["frames"] = to_value(frames);
    return json_line(done);
}

}  // namespace

bool FrameWriter::fits(const std::string& payload) const {
    return payload.size() <= kMaxFrame.count &&
           bytes_ + kHeader + payload.size() <= kMaxFrames.count - kDoneReserve;
}

/// The frame, followed by the checksum of all bytes before the checksum.
std::string FrameWriter::summed(FrameKind kind, const std::string& payload) const {
    const auto frame = header(payload.size() + kSum, kind) + payload;
    return frame + number_bytes(extended(sum_, frame));
}

std::string FrameWriter::add(FrameKind kind, const std::string& payload) {
    if (!fits(payload))
        return {};
    auto frame = has_sum(kind) ? summed(kind, payload) : header(payload.size(), kind) + payload;
    sum_ = extended(sum_, frame);
    bytes_ += frame.size();
    ++frames_;
    return frame;
}

std::string FrameWriter::phase(std::string_view name) {
    Value payload;
    payload["name"] = Value{scrubbed(name, kMaxPhase)};
    return add(FrameKind::Phase, json_line(payload));
}

std::string FrameWriter::confined(const std::vector<std::string>& by) {
    Value payload;
    payload["by"] = to_value(by);
    return add(FrameKind::Confined, json_line(payload));
}

std::string FrameWriter::runtime(const Value& facts) {
    const auto* members = facts.as_object();
    if (!members || members_ + members->size() > kMaxFrameMembers)
        return {};
    auto frame = add(FrameKind::Runtime, json_line(facts));
    if (!frame.empty())
        members_ += members->size();
    return frame;
}

std::string FrameWriter::device(const DeviceFacts& facts) {
    if (devices_ == kMaxFrameDevices)
        return {};
    auto payload = json_line(value_of(facts));
    // The frame is too large. Send the device without its API-specific facts, which is better than
    // leaving the device out.
    if (!fits(payload)) {
        auto common = facts;
        common.extra = Value{Value::Object{}};
        payload = json_line(value_of(common));
    }
    auto frame = add(FrameKind::Device, payload);
    if (!frame.empty())
        ++devices_;
    return frame;
}

std::string FrameWriter::known() {
    Value payload;
    payload["frames"] = to_value(frames_);
    return add(FrameKind::Known, json_line(payload));
}

std::string FrameWriter::done(Outcome outcome,
                              const std::optional<std::string>& note,
                              const std::vector<Reason>& reasons) {
    const std::vector<Reason> first{
        reasons.begin(),
        reasons.begin() + static_cast<std::ptrdiff_t>(std::min(reasons.size(), kMaxReasons))};
    auto payload = done_payload(outcome, note, first, frames_);
    // fits() has reserved kDoneReserve bytes for this frame. If the frame is larger, drop the
    // reasons.
    if (payload.size() + kHeader + kSum > kDoneReserve)
        payload = done_payload(outcome, note, {}, frames_);
    return summed(FrameKind::Done, payload);
}

void FrameReader::feed(std::string_view bytes) {
    if (problem_ || bytes.empty())
        return;
    bytes_ += bytes.size();
    if (done_) {
        (void)fail("extra bytes at the end");
        return;
    }
    if (bytes_ > kMaxFrames.count) {
        (void)fail("over " + std::to_string(kMaxFrames.count) + " bytes");
        return;
    }
    buffer_.erase(0, std::exchange(read_, 0));  // drop the frames that have been decoded
    buffer_ += bytes;
}

std::optional<Frame> FrameReader::fail(std::string problem) {
    problem_ = std::move(problem);
    buffer_.clear();
    read_ = 0;
    return std::nullopt;
}

std::optional<Frame> FrameReader::next() {
    if (problem_ || done_)
        return std::nullopt;
    const auto rest = std::string_view{buffer_}.substr(read_);
    if (rest.size() < kHeader)
        return std::nullopt;
    const std::size_t length = number_at(rest, 0);
    const auto kind = number_at(rest, 4);
    // Check the header before waiting for the payload: with an invalid length, the payload would
    // never arrive.
    if (length > kMaxFrame.count)
        return fail("a frame of " + std::to_string(length) + " bytes");
    if (kind < 1 || kind > static_cast<std::uint32_t>(FrameKind::Known))
        return fail("a frame of unknown kind " + std::to_string(kind));
    if (rest.size() < kHeader + length)
        return std::nullopt;
    auto frame = take(static_cast<FrameKind>(kind), rest.substr(0, kHeader + length));
    if (!frame)
        return std::nullopt;
    read_ += kHeader + length;
    if (done_ && read_ != buffer_.size())
        return fail("extra bytes at the end");
    return frame;
}

std::optional<std::string_view> FrameReader::summed(std::string_view frame) const {
    if (frame.size() < kHeader + kSum)
        return std::nullopt;
    const auto covered = frame.substr(0, frame.size() - kSum);
    if (extended(sum_, covered) != number_at(frame, covered.size()))
        return std::nullopt;
    return covered.substr(kHeader);
}

std::optional<Frame> FrameReader::take(FrameKind kind, std::string_view bytes) {
    std::optional<std::string_view> text = bytes.substr(kHeader);
    if (has_sum(kind))
        text = summed(bytes);
    if (!text)
        return fail("wrong checksum");
    auto payload = parse_json(*text, kMaxFrame);
    if (!payload || !payload->is_object())
        return fail("a frame is not a JSON object");
    Frame frame{.kind = kind, .payload = *std::move(payload)};
    if (auto why = objection(frame); !why.empty())
        return fail(std::move(why));
    sum_ = extended(sum_, bytes);
    ++frames_;
    done_ = kind == FrameKind::Done;
    return frame;
}

std::string FrameReader::objection(const Frame& frame) {
    // The writer has the same limits, so a stream that exceeds the limits wasn't written by the
    // writer.
    if (frame.kind == FrameKind::Device && ++devices_ > kMaxFrameDevices)
        return "over " + std::to_string(kMaxFrameDevices) + " devices";
    if (frame.kind == FrameKind::Runtime &&
        (members_ += frame.payload.as_object()->size()) > kMaxFrameMembers)
        return "over " + std::to_string(kMaxFrameMembers) + " facts of the API";
    // Frames with a checksum contain the number of earlier frames, so that a missing frame is
    // detected.
    if (has_sum(frame.kind) && frame.payload.at("frames").as_unsigned() != frames_)
        return "frames are missing";
    return {};
}

namespace {

constexpr std::size_t kMaxTail = 4096;
constexpr std::size_t kMaxLines = 32;

/// The last kMaxTail bytes of the string.
std::string_view last(std::string_view text) {
    return text.substr(text.size() - std::min(text.size(), kMaxTail));
}

constexpr std::size_t kMaxKeptPhase = 64;

/// Converts the done frame to a result without devices; nullopt unless its outcome is one of the
/// three outcomes that a worker may report.
std::optional<ProbeResult> verdict_from(const Value& done) {
    auto result = probe_result_from(done);
    if (!result)
        return std::nullopt;
    const auto outcome = result->outcome;
    if (outcome != Outcome::Answered && outcome != Outcome::Absent && outcome != Outcome::Failed)
        return std::nullopt;
    return *std::move(result);
}

/// The payload of a `confined` frame.
struct Confined {
    std::vector<std::string> by = {};
};
RECORD_MEMBERS(Confined, by)

/// Facts about an API, reduced to the limits of a capture.
Value bounded_runtime(const Value& runtime) {
    Value record;
    record["outcome"] = to_value(Outcome::Answered);
    record["runtime"] = runtime;
    auto result = probe_result_from(record);
    return result ? result->runtime : Value{};
}

/// Whether the exit status is unknown, or the worker's reaper received SIGTERM because the machine
/// is shutting down or the service was stopped.
bool was_ended_from_outside(const WorkerExit& exit) {
    return !exit.signal && exit.code.value_or(kExitTerminated) == kExitTerminated;
}

Reason output_reason(const std::vector<std::string>& lines) {
    return because("worker-output", {{"lines", to_value(lines)}});
}

Reason malformed_reason(const std::string& problem) {
    return because("malformed-answer", {{"problem", problem}});
}

}  // namespace

void OutputTail::add(std::string_view bytes) {
    tail_ += last(bytes);
    tail_.erase(0, tail_.size() - last(tail_).size());
}

std::vector<std::string> OutputTail::lines() const {
    std::vector<std::string> lines;
    for (const auto line : split(tail_, '\n'))
        if (auto text = scrubbed(trimmed(line)); !text.empty())
            lines.push_back(std::move(text));
    if (lines.size() > kMaxLines)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMaxLines));
    return lines;
}

std::string text_of_limit(Duration limit) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit);
    if (seconds == limit)
        return std::to_string(seconds.count()) + " s";
    return std::to_string(std::chrono::ceil<std::chrono::milliseconds>(limit).count()) + " ms";
}

void Transcript::add(std::string_view bytes) {
    if (is_malformed())
        return;
    reader_.feed(bytes);
    while (!undeclared_) {
        auto frame = reader_.next();
        if (!frame)
            return;
        add(*std::move(frame));
    }
}

void Transcript::add(Frame frame) {
    switch (frame.kind) {
        case FrameKind::Phase:
            if (const auto* name = frame.payload.at("name").as_string())
                phase_ = scrubbed(*name, kMaxKeptPhase);
            return;
        case FrameKind::Runtime:
            undeclared_ = undeclared_runtime_fact(frame.payload);
            for (auto& member : *frame.payload.as_object())
                if (!undeclared_)
                    runtime_[member.key] = std::move(member.value);
            return;
        case FrameKind::Device:
            undeclared_ = undeclared_device_fact(frame.payload);
            // The reader has checked that the payload is an object.
            add_device(facts_from(frame.payload).value());
            return;
        case FrameKind::Known:
            is_known_ = true;
            return;
        case FrameKind::Confined:
            // Keep the first `confined` frame, because the worker sends this frame before it loads
            // a driver. A driver may have forged a later frame.
            if (auto by = record_from<Confined>(frame.payload); by && !confinement_)
                confinement_ = std::move(by->by);
            return;
        case FrameKind::Done:
            verdict_ = verdict_from(frame.payload);
            bad_verdict_ = !verdict_;
    }
}

/// After the `known` frame, a Device frame with a known index adds extra facts to that device.
void Transcript::add_device(DeviceFacts facts) {
    const auto same =
        is_known_ ? std::ranges::find(devices_, facts.index, &DeviceFacts::index) : devices_.end();
    const auto* more = facts.extra.as_object();
    if (same == devices_.end())
        devices_.push_back(std::move(facts));
    else if (more)
        for (const auto& member : *more)
            same->extra[member.key] = member.value;
}

/// A result with the reported facts but without an outcome. If the frames are malformed, the result
/// contains no facts.
ProbeResult Transcript::reported(const ProbeTarget& target) const {
    ProbeResult result{
        .api = target.api, .driver = target.driver, .stage = target.stage, .device = target.device};
    if (!is_malformed()) {
        result.devices = devices_;
        result.runtime = bounded_runtime(runtime_);
        result.confinement = confinement_;
    }
    return result;
}

ProbeResult Transcript::so_far(const ProbeTarget& target) const {
    auto result = reported(target);
    result.outcome = Outcome::Answered;
    return result;
}

ProbeResult Transcript::conclude(const ProbeTarget& target, const Ending& ending) const {
    auto result = reported(target);
    if (!is_malformed()) {
        const auto exit = ending.exit.value_or(WorkerExit{});
        result.exit_code = exit.code;
        result.signal = exit.signal;
    }
    if (is_complete())
        take_verdict(result);
    else
        judge(ending, result);
    if (result.outcome != Outcome::Answered && !ending.output_lines.empty())
        result.reasons.push_back(output_reason(ending.output_lines));
    return result;
}

void Transcript::take_verdict(ProbeResult& result) const {
    result.outcome = verdict_->outcome;
    result.note = verdict_->note;
    result.reasons = verdict_->reasons;
    // Reason codes are a closed list. Keep an unknown code, but report the worker's answer as
    // malformed.
    const auto stranger = std::ranges::find(
        verdict_->reasons, nullptr, [](const Reason& reason) { return find_reason(reason.code); });
    if (stranger != verdict_->reasons.end())
        result.reasons.push_back(malformed_reason("unknown reason " + stranger->code));
}

/// The outcome of a worker that did not report an outcome. Malformed frames are checked first,
/// because the caller then kills the worker, so that its exit status is meaningless.
void Transcript::judge(const Ending& ending, ProbeResult& result) const {
    if (!phase_.empty())
        result.phase = phase_;
    const auto exit = ending.exit.value_or(WorkerExit{});
    if (is_malformed())
        return judge_malformed(result);
    if (ending.missed) {
        result.outcome = Outcome::TimedOut;
        result.note = "timed out after " + text_of_limit(*ending.missed) + in_phase();
        return;
    }
    if (was_ended_from_outside(exit)) {
        result.outcome = Outcome::Failed;
        result.note = "ended without an answer" + in_phase();
        result.reasons.push_back(because("worker-lost"));
        return;
    }
    if (exit.signal) {
        result.outcome = Outcome::Crashed;
        result.note = signal_name(*exit.signal) + in_phase();
        return;
    }
    result.outcome = Outcome::Failed;
    result.note = "exited " + std::to_string(*exit.code) + " without an answer" + in_phase();
}

/// Adds the cause: a broken stream, an invalid outcome or an undeclared fact.
void Transcript::judge_malformed(ProbeResult& result) const {
    result.outcome = Outcome::Failed;
    result.note = "malformed answer" + in_phase();
    if (!undeclared_) {
        result.reasons.push_back(malformed_reason(reader_.problem().value_or("unknown outcome")));
        return;
    }
    const auto problem = "unknown fact " + *undeclared_;
    *result.note += ": " + problem;
    result.reasons.push_back(malformed_reason(problem));
}

std::string Transcript::in_phase() const {
    return phase_.empty() ? std::string{} : " in phase " + phase_;
}

}  // namespace gpuprobe::inline probe
