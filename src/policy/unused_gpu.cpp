// SPDX-License-Identifier: Apache-2.0
#include "policy/unused_gpu.h"

#include <algorithm>
#include <utility>

#include "report/api_table.h"

namespace gpuprobe::inline policy {

/// On WSL a physical GPU appears as a virtual device until a driver has answered.
bool may_be_missed(const Gpu& gpu) {
    return gpu.kind != GpuKind::DisplayOnly &&
           (gpu.kind != GpuKind::Virtual || gpu.driver.name == kTransport);
}

/// The entry of a GPU, created on first use.
UnusedGpu::Entry& UnusedGpu::entry_of(const Gpu& gpu) {
    const auto found = std::ranges::find(entries_, &gpu, &Entry::gpu);
    return found == entries_.end() ? entries_.emplace_back(Entry{.gpu = &gpu}) : *found;
}

void UnusedGpu::add(const Gpu& gpu, std::string_view by, std::vector<Reason> reasons) {
    if (!may_be_missed(gpu))
        return;
    auto& entry = entry_of(gpu);
    const auto nearness = nearness_of(reasons);
    // Excluding a candidate for other GPUs does not mean that this GPU was excluded.
    if (nearness != Nearness::ForOthers && has_reason_with(reasons, ReasonTraits::Wished)) {
        entry.is_wished = true;
        return;
    }
    // Keep only the closest miss. Among equals the first one stays, unless the new one asks for
    // less.
    const bool is_as_near = entry.nearness == nearness && wants_less(reasons, entry.reasons);
    if (entry.nearness && nearness <= *entry.nearness && !is_as_near)
        return;
    entry.nearness = nearness;
    entry.by = by;
    entry.reasons = std::move(reasons);
}

std::optional<Reason> UnusedGpu::warning() const {
    const Entry* best = nullptr;
    for (const auto& entry : entries_)
        if (entry.counts() && (!best || entry.nearness > best->nearness))
            best = &entry;
    if (!best)
        return std::nullopt;
    Value::Object detail{{"gpu", best->gpu->id}};
    // A candidate for other GPUs does not explain anything, so don't name it.
    if (best->nearness != Nearness::ForOthers)
        detail.push_back({"by", best->by});
    if (!best->reasons.empty())
        detail.push_back({"reasons", to_value(best->reasons)});
    return because("gpu-unused", std::move(detail));
}

}  // namespace gpuprobe::inline policy
