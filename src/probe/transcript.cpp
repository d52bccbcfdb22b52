// SPDX-License-Identifier: Apache-2.0
#include "probe/transcript.h"

#include <algorithm>
#include <cstring>

#include "base/process.h"
#include "base/text.h"
#include "probe/keeper.h"
#include "report/fact_table.h"

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kMaxTail = 4096;
constexpr std::size_t kMaxLines = 32;

/// The last kMaxTail bytes of the text.
std::string_view last(std::string_view text) {
    return text.substr(text.size() - std::min(text.size(), kMaxTail));
}

constexpr std::size_t kMaxKeptPhase = 64;

/// The done frame as a result without devices; nullopt unless its outcome is one of the three that
/// a worker may report.
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

/// Facts about an API, cut to the limits of a capture.
Value bounded_runtime(const Value& runtime) {
    Value record;
    record["outcome"] = to_value(Outcome::Answered);
    record["runtime"] = runtime;
    auto result = probe_result_from(record);
    return result ? result->runtime : Value{};
}

/// Whether the exit status is unknown, or the worker's reaper received SIGTERM: the machine is
/// shutting down, or the service was stopped.
bool was_ended_from_outside(const WorkerExit& exit) {
    return !exit.signal && exit.code.value_or(kExitToldToEnd) == kExitToldToEnd;
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
            add_device(facts_from(frame.payload).value());  // the reader saw an object
            return;
        case FrameKind::Known:
            is_known_ = true;
            return;
        case FrameKind::Confined:
            // Keep the first: the worker sends it before it loads a driver. A later frame may have
            // been forged by the driver.
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

/// The reported facts without an outcome; without any facts if the frames are malformed.
ProbeResult Transcript::told(const ProbeTarget& target) const {
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
    auto result = told(target);
    result.outcome = Outcome::Answered;
    return result;
}

ProbeResult Transcript::conclude(const ProbeTarget& target, const Ending& ending) const {
    auto result = told(target);
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
    // Reason codes are a closed list. Keep an unknown one, but report the worker as malformed.
    const auto stranger = std::ranges::find(
        verdict_->reasons, nullptr, [](const Reason& reason) { return find_reason(reason.code); });
    if (stranger != verdict_->reasons.end())
        result.reasons.push_back(malformed_reason("unknown reason " + stranger->code));
}

/// The outcome of a worker that did not report one. Malformed frames come first, because the caller
/// killed such a worker and its exit status means nothing.
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
        result.reasons.push_back(malformed_reason(reader_.problem().value_or("no such outcome")));
        return;
    }
    const auto problem = "no fact is called " + *undeclared_;
    *result.note += ": " + problem;
    result.reasons.push_back(malformed_reason(problem));
}

std::string Transcript::in_phase() const {
    return phase_.empty() ? std::string{} : " in phase " + phase_;
}

}  // namespace gpuprobe::inline probe
