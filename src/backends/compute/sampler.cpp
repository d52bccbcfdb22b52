// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/sampler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/result.h"

namespace gpuprobe::backends {
namespace {

/// Times below this may only show how coarse the clock is.
constexpr Seconds kShortest{1e-9};
constexpr std::uint32_t kMaxTimes = 100'000;

std::uint32_t times_for(Seconds batch, Seconds piece) {
    const auto times = std::ceil(batch / std::max(piece, kShortest));
    return static_cast<std::uint32_t>(std::clamp(times, 1.0, double{kMaxTimes}));
}

Refusal too_slow(Seconds piece) {
    Value detail;
    detail["piece_usec"] = Value{static_cast<long long>(piece.count() * 1e6)};
    return Refusal{.code = "too-slow",
                   .note = "the smallest piece of work takes too long",
                   .detail = std::move(detail)};
}

}  // namespace

Attempt<Rate> Sampler::rate_of(const Load& load) {
    const auto piece = TRY(grow(load));
    const auto times = times_for(kBatch, piece);
    std::vector<Seconds> batches;
    if (std::exchange(is_warm_, true))
        batches = TRY(ramp(load, times, std::min(kLaterRamp, ramp_left_)));
    else
        (void)TRY(ramp(load, times_for(kRampBatch, piece), ramp_left_));
    while (batches.empty() || (batches.size() < kBatches && budget_left_ > Seconds{0}))
        batches.push_back(TRY(time_of(load, times)));
    is_hurried_ = is_hurried_ || batches.size() < kBatches;
    std::ranges::sort(batches);
    const auto rate_in = [&](Seconds batch) { return load.units * size_ * times / batch.count(); };
    const auto median = rate_in(batches[batches.size() / 2]);
    return Rate{.median = median,
                .spread = (rate_in(batches.front()) - rate_in(batches.back())) / median};
}

Attempt<Seconds> Sampler::time_of(const Load& load, std::uint32_t times) {
    Seconds took{};
    for (int attempt = 0; attempt < 2; ++attempt) {
        const auto begin = now_();
        (void)TRY(load.run(size_, times));
        took = std::max(now_() - begin, kShortest);
        budget_left_ -= took;
        if (took / times <= max_piece_)
            return took;
    }
    return too_slow(took / times);  // twice in a row, so it was not the host that was busy
}

Attempt<Seconds> Sampler::grow(const Load& load) {
    size_ = 1;
    (void)TRY(load.run(size_, 1));  // drivers compile at the first
    auto piece = TRY(time_of(load, 1));
    while (piece < load.piece && size_ < load.max_size && budget_left_ > Seconds{0}) {
        size_ *= 2;
        piece = TRY(time_of(load, 1));
    }
    return piece;
}

Attempt<std::vector<Seconds>> Sampler::ramp(const Load& load, std::uint32_t times, Seconds limit) {
    if (budget_left_ <= Seconds{0})
        return std::vector<Seconds>{};
    auto before = TRY(time_of(load, times));
    for (;;) {
        const auto took = TRY(time_of(load, times));
        ramp_left_ -= took;
        limit -= took;
        if (std::abs(took / before - 1) < kSteady)
            return std::vector{before, took};
        if (limit <= Seconds{0})
            return std::vector<Seconds>{};
        before = took;
    }
}

}  // namespace gpuprobe::backends
