// SPDX-License-Identifier: Apache-2.0
#include "recommend/gpu_masks.h"

#include <algorithm>

namespace gpuprobe {

GpuMasks::GpuMasks(const std::vector<GpuFacts>& gpus, const Rules& rules) : rules_{rules} {
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        const auto found = std::ranges::find_if(
            groups_, [&](const Group& group) { return is_like(*group.first, gpus[i]); });
        auto& group =
            found == groups_.end() ? groups_.emplace_back(Group{.first = &gpus[i]}) : *found;
        group.members |= 1ULL << i;
        all_ |= 1ULL << i;
    }
}

GpuMask GpuMasks::ask(const Predicate& predicate) const {
    GpuMask mask;
    for (const auto& group : groups_) {
        const auto truth = holds(predicate, *group.first, rules_);
        if (truth == Truth::True)
            mask.yes |= group.members;
        if (truth != Truth::False)
            mask.maybe |= group.members;
    }
    return mask;
}

GpuMask GpuMasks::of(const Predicate& predicate) {
    auto& recent = recent_[static_cast<std::size_t>(predicate.kind)];
    for (const auto& kept : recent.entries)
        if (kept.predicate && kept.predicate->need == predicate.need)
            return kept.mask;
    auto& place = recent.entries[recent.next];
    recent.next = (recent.next + 1) % kKept;
    place = {.predicate = &predicate, .mask = ask(predicate)};
    return place.mask;
}

GpuMask GpuMasks::of(const Conjunction& predicates) {
    GpuMask mask{.yes = all_, .maybe = all_};
    for (const auto& predicate : predicates) {
        const auto next = of(predicate);
        mask.yes &= next.yes;
        mask.maybe &= next.maybe;
        if (mask.maybe == 0)
            break;
    }
    return mask;
}

}  // namespace gpuprobe
