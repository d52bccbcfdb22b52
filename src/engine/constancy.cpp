// SPDX-License-Identifier: Apache-2.0
#include "engine/constancy.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>

#include "base/sha256.h"
#include "base/value_json.h"
#include "engine/lasting_part.h"
#include "report/trials.h"

namespace gpuprobe {
namespace {

constexpr int kTrustedAfter = 3;  ///< answers on end that agree

bool is_whole(const ProbeResult& answer) {
    return answer.stage == kQueryStage &&
           (answer.outcome == Outcome::Answered || answer.outcome == Outcome::Absent);
}

/// A digest: an answer may be megabytes.
std::string said_by(const ProbeResult& answer) {
    return sha256_of(json_line(lasting_part(answer)));
}

/// What may be relied on, more or less: devices, and the bytes of their memories.
std::tuple<std::size_t, std::uint64_t> promise_of(const ProbeResult& answer) {
    std::uint64_t bytes = 0;
    for (const auto& device : answer.devices)
        if (device.memory && device.memory->total)
            bytes += device.memory->total->count;
    return {answer.devices.size(), bytes};
}

std::optional<Reason> unrest_of(const ProbeResult* answer) {
    if (!answer)
        return std::nullopt;
    const auto found = std::ranges::find_if(
        answer->reasons, [](const Reason& reason) { return reason.is(kUnstable); });
    return found == answer->reasons.end() ? std::nullopt : std::optional{*found};
}

ProbeResult lower_of(const ProbeResult* believed, ProbeResult answer) {
    return believed && is_whole(*believed) && promise_of(*believed) < promise_of(answer)
               ? *believed
               : std::move(answer);
}

Reason unstable_since(const ProbeResult& answer) {
    return because(kUnstable, {{"driver", answer.driver}, {"since_usec", to_value(answer.at)}});
}

ProbeResult with(ProbeResult answer, Reason unrest) {
    std::erase_if(answer.reasons, [](const Reason& reason) { return reason.is(kUnstable); });
    answer.reasons.push_back(std::move(unrest));
    return answer;
}

}  // namespace

Constancy::Heard Constancy::hear(ProbeResult answer, const ProbeResult* believed) {
    if (!is_whole(answer))
        return {.believed = std::move(answer)};
    const auto [place, is_first] = last_.try_emplace({answer.api, answer.driver});
    auto& last = place->second;
    const auto before = std::exchange(last.said, said_by(answer));
    if (is_first)
        return {.believed = std::move(answer)};
    const bool agrees = last.said == before;
    last.times = agrees ? last.times + 1 : 1;
    auto unrest = unrest_of(believed);
    const bool was_doubted = std::exchange(last.is_doubted, !agrees);
    if (!unrest && (agrees || !was_doubted))
        return {.believed = std::move(answer), .is_doubtful = !agrees};
    if (last.times >= kTrustedAfter)
        return {.believed = std::move(answer)};
    if (!unrest)
        unrest = unstable_since(answer);
    return {.believed = with(lower_of(believed, std::move(answer)), *std::move(unrest))};
}

}  // namespace gpuprobe
