// SPDX-License-Identifier: Apache-2.0
#include "plan/placement.h"

#include <algorithm>
#include <numeric>

#include "plan/size_math.h"

namespace gpuprobe {
namespace {

constexpr std::uint64_t kContextStep = 256;
/// Longer than any model of today is trained for.
constexpr std::uint64_t kLongestContext = 1ULL << 24U;

/// A tenth more, rounded up.
Bytes with_spare(Bytes size) {
    return sum(size, Bytes{size.count / 10 + (size.count % 10 == 0 ? 0 : 1)});
}

Bytes counted(Bytes size, bool spare) {
    return spare ? with_spare(size) : size;
}

Bytes total_of(const Load& load) {
    return std::accumulate(load.pieces.begin(), load.pieces.end(), Bytes{},
                           [](Bytes left, Bytes right) { return sum(left, right); });
}

/// One piece over all slots: what counts is the sum of what each has left.
Placement pour(const Load& load, const std::vector<Slot>& slots, bool spare) {
    Placement placement{.used = std::vector<Bytes>(slots.size()),
                        .pieces = std::vector<std::uint64_t>(slots.size())};
    auto rest = counted(total_of(load), spare);
    for (std::size_t i = 0; i < slots.size(); ++i) {
        placement.used[i] = std::min(rest, slots[i].budget);
        rest = difference(rest, placement.used[i]);
    }
    placement.is_complete = rest.count == 0;
    return placement;
}

}  // namespace

Bytes whole_of(const Load& load, const Slot& slot) {
    return sum(total_of(load), sum(load.fixed, slot.overhead));
}

Placement place(const Load& load, const std::vector<Slot>& slots, bool spare) {
    if (load.is_divisible)
        return pour(load, slots, spare);
    Placement placement{.used = std::vector<Bytes>(slots.size()),
                        .pieces = std::vector<std::uint64_t>(slots.size())};
    std::size_t next = 0;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        auto used = sum(load.fixed, slots[i].overhead);
        const auto start = next;
        while (next < load.pieces.size() &&
               counted(sum(used, load.pieces[next]), spare) <= slots[i].budget)
            used = sum(used, load.pieces[next++]);
        placement.pieces[i] = next - start;
        placement.used[i] = next == start ? Bytes{} : used;
    }
    placement.is_complete = next == load.pieces.size();
    return placement;
}

Load load_of(const Model& model, const RunShape& run) {
    Load load{.fixed = compute_of(model, run)};
    load.pieces.reserve(model.layers.size() + 1);
    load.pieces.push_back(model.output);
    for (auto layer = model.layers.rbegin(); layer != model.layers.rend(); ++layer)
        load.pieces.push_back(sum(layer->weights, cache_of(*layer, model.window, run)));
    return load;
}

Fit fit_of(const Load& load, const std::vector<Slot>& slots) {
    if (place(load, slots, true).is_complete)
        return Fit::Fits;
    return place(load, slots, false).is_complete ? Fit::Tight : Fit::No;
}

std::optional<std::uint64_t> max_context_of(const Model& model,
                                            RunShape run,
                                            const std::vector<Slot>& slots) {
    const auto fits = [&](std::uint64_t steps) {
        run.context = steps * kContextStep;
        return place(load_of(model, run), slots, true).is_complete;
    };
    const auto longest = std::min(model.trained_context.value_or(kLongestContext), kLongestContext);
    std::uint64_t good = 0;
    std::uint64_t bad = longest / kContextStep + 1;
    while (bad - good > 1) {
        const auto middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    return good == 0 ? std::nullopt : std::optional{good * kContextStep};
}

}  // namespace gpuprobe
