// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "plan/compute_graph.h"
#include "plan/plan.h"
#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

constexpr std::uint64_t kContextStep = 256;
/// The maximum context if the context for which a model was trained is unknown. No current model
/// was trained for a longer context.
constexpr std::uint64_t kLongestContext = 1ULL << 24U;

/// The size increased by a tenth, rounded up.
Bytes with_spare(Bytes size) {
    return sum(size, Bytes{size.count / 10 + (size.count % 10 == 0 ? 0 : 1)});
}

Bytes counted(Bytes size, bool spare) {
    return spare ? with_spare(size) : size;
}

/// The largest size that fits into the slot's budget; if `spare` is true, the size plus a tenth
/// must fit.
Bytes component_of(const Slot& slot, bool spare) {
    return spare ? Bytes{product(slot.budget.count / 11, 10) + slot.budget.count % 11 * 10 / 11}
                 : slot.budget;
}

/// Places a number of bytes that does not belong to a model. Only the sum of the slots' capacities
/// matters.
Placement pour(const Load& load, const std::vector<Slot>& slots, bool spare) {
    Placement placement{.used = std::vector<Bytes>(slots.size()),
                        .pieces = std::vector<std::uint64_t>(slots.size())};
    auto rest = load.bytes;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        placement.used[i] = std::min(rest, component_of(slots[i], spare));
        rest = difference(rest, placement.used[i]);
    }
    placement.is_complete = rest.count == 0;
    return placement;
}

/// The end of each slot's range of pieces, as a fraction of all pieces.
std::vector<float> borders_of(const std::vector<Slot>& slots) {
    std::vector<float> borders;
    float total = 0;
    for (const auto& slot : slots)
        borders.push_back(total += slot.weight);
    for (std::size_t i = 0; i < borders.size(); ++i)
        borders[i] = total > 0 ? borders[i] / total
                               : static_cast<float>(i + 1) / static_cast<float>(slots.size());
    return borders;
}

/// The size of the weights, cache and compute buffer of one device.
Bytes part_bytes(const Load& load, const Part& part) {
    if (part.first == part.last && !part.has_output)
        return {};
    auto bytes = part.has_output ? load.model->output : Bytes{};
    for (auto i = part.first; i < part.last; ++i) {
        const auto& layer = load.model->layers[i];
        bytes = sum(bytes, sum(layer.weights, cache_of(layer, *load.model, load.run)));
    }
    return sum(bytes, compute_of(*load.model, load.run, part));
}

/// Size of the stream between layers, for a whole batch.
Bytes row_of(const Load& load) {
    return Bytes{product(load.model->embedding_length, tokens_of(load.run), sizeof(float))};
}

/// Size of the matrix that is copied for layers on the host: for long batches, the first GPU
/// computes such layers, and the matrices are copied to this GPU one at a time. Source: op_offload
/// in ggml/src/ggml-backend.cpp.
Bytes copied_matrix(const Load& load, std::uint64_t offloaded) {
    constexpr std::uint64_t kLongBatch = 32;
    Bytes largest;
    const auto layers = load.model->layers.size();
    const auto on_host = layers + 1 > offloaded ? layers + 1 - offloaded : 0;
    for (std::size_t i = 0; i < on_host && i < layers; ++i)
        largest = std::max(largest, load.model->layers[i].largest);
    return tokens_of(load.run) >= kLongBatch && offloaded > 0 ? largest : Bytes{};
}

/// Whether each slot's budget is large enough for the slot's part, and no tensor exceeds the
/// maximum size of a buffer. A tensor's size isn't an estimate, so it needs no spare memory.
bool holds(const Placement& placement, const std::vector<Slot>& slots, bool spare) {
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (counted(placement.used[i], spare) > slots[i].budget ||
            placement.largest[i] > slots[i].buffer_limit.value_or(placement.largest[i]))
            return false;
    return true;
}

}  // namespace

std::uint64_t Load::pieces() const {
    return model ? model->layers.size() + 1 : 1;
}

// The comparison of floats must give the same result as in llama.cpp, so this function uses the
// same expressions.
Placement split_layers(const Load& load, const std::vector<Slot>& slots, std::uint64_t offloaded) {
    Placement placement{.used = std::vector<Bytes>(slots.size()),
                        .pieces = std::vector<std::uint64_t>(slots.size()),
                        .largest = std::vector<Bytes>(slots.size())};
    const auto borders = borders_of(slots);
    // Assign each piece to the slot whose range contains the position of the piece.
    const auto start = load.pieces() - offloaded;
    for (std::uint64_t piece = start; piece < load.pieces(); ++piece) {
        const auto at = static_cast<float>(piece - start) / static_cast<float>(offloaded);
        const auto slot = std::ranges::upper_bound(borders, at) - borders.begin();
        ++placement.pieces[std::min(static_cast<std::size_t>(slot), slots.size() - 1)];
    }
    // Then add up the memory of each slot. llama.cpp uses a pipeline only if everything is
    // offloaded.
    const bool is_pipeline = slots.size() > 1 && start == 0;
    auto next = start;
    for (std::size_t i = 0; i < slots.size(); ++i) {
        if (placement.pieces[i] == 0)
            continue;
        const auto end = next + placement.pieces[i];
        const Part part{.first = next,
                        .last = std::min<std::size_t>(end, load.model->layers.size()),
                        .has_output = end == load.pieces(),
                        .copies = is_pipeline ? load.pipeline_copies : 1};
        placement.used[i] = sum(part_bytes(load, part), slots[i].overhead);
        if (slots[i].buffer_limit)
            placement.largest[i] = largest_of(*load.model, load.run, part);
        if (load.is_reordered && slots.size() > 1)
            placement.used[i] = sum(placement.used[i], row_of(load));
        if (next == start)
            placement.used[i] = sum(placement.used[i], copied_matrix(load, offloaded));
        next = end;
    }
    placement.is_complete = start == 0;
    return placement;
}

Placement place(const Load& load, const std::vector<Slot>& slots, bool spare) {
    if (!load.model)
        return pour(load, slots, spare);
    // Often all pieces fit. Otherwise, find the largest number of pieces by bisection.
    auto best = split_layers(load, slots, load.pieces());
    if (holds(best, slots, spare))
        return best;
    std::uint64_t good = 0;
    std::uint64_t bad = load.pieces();
    best = split_layers(load, slots, 0);
    while (bad - good > 1) {
        const auto middle = good + (bad - good) / 2;
        auto tried = split_layers(load, slots, middle);
        if (holds(tried, slots, spare)) {
            best = std::move(tried);
            good = middle;
        } else {
            bad = middle;
        }
    }
    return best;
}

Bytes largest_of(const Load& load, const Slot& slot) {
    return load.model ? split_layers(load, {slot}, load.pieces()).largest.front() : Bytes{};
}

Bytes whole_of(const Load& load, const Slot& slot) {
    if (!load.model)
        return sum(load.bytes, slot.overhead);
    return split_layers(load, {slot}, load.pieces()).used.front();
}

Fit fit_of(const Load& load, const std::vector<Slot>& slots) {
    if (!load.model) {
        if (pour(load, slots, true).is_complete)
            return Fit::Fits;
        return pour(load, slots, false).is_complete ? Fit::Tight : Fit::No;
    }
    const auto all = split_layers(load, slots, load.pieces());
    if (holds(all, slots, true))
        return Fit::Fits;
    return holds(all, slots, false) ? Fit::Tight : Fit::No;
}

std::vector<Slot> best_split(const Load& load, const std::vector<Slot>& slots) {
    // Keep the default split if everything fits, because the user then needs no option.
    if (fit_of(load, slots) == Fit::Fits)
        return slots;
    auto by_component = slots;
    const auto fixed = compute_of(*load.model, load.run, whole(*load.model));
    for (auto& slot : by_component)
        slot.weight = static_cast<float>(difference(slot.budget, sum(slot.overhead, fixed)).count);
    const auto held = [&](const std::vector<Slot>& tried) {
        const auto pieces = place(load, tried, true).pieces;
        return std::accumulate(pieces.begin(), pieces.end(), std::uint64_t{0});
    };
    return held(by_component) > held(slots) ? by_component : slots;
}

std::optional<std::uint64_t> max_context_of(Load load, const std::vector<Slot>& slots) {
    const auto fits = [&](std::uint64_t steps) {
        load.run.context = steps * kContextStep;
        return holds(split_layers(load, slots, load.pieces()), slots, true);
    };
    const auto longest =
        std::min(load.model->trained_context.value_or(kLongestContext), kLongestContext);
    std::uint64_t good = 0;
    // Bisection over multiples of 256: a context of `good` tokens fits, but a context of `bad`
    // tokens does not.
    std::uint64_t bad = longest / kContextStep + 1;
    while (bad - good > 1) {
        const auto middle = good + (bad - good) / 2;
        (fits(middle) ? good : bad) = middle;
    }
    return good == 0 ? std::nullopt : std::optional{good * kContextStep};
}

}  // namespace gpuprobe::inline plan
