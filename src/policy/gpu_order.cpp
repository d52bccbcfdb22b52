// SPDX-License-Identifier: Apache-2.0
#include "policy/gpu_order.h"

#include <algorithm>
#include <iterator>

#include "report/compute_view.h"
#include "report/report.h"

namespace gpuprobe::inline policy {
namespace {

/// The vendor-specific architecture: compute capability, gfx target or Intel IP.
const std::optional<std::string>& architecture_of(const Gpu& gpu) {
    const auto& known = gpu.architecture;
    if (known.cuda_compute_capability)
        return known.cuda_compute_capability;
    return known.gfx_target ? known.gfx_target : known.intel_ip;
}

}  // namespace

std::vector<const Gpu*> in_order(const Report& report) {
    std::vector<const Gpu*> gpus;
    for (const auto& gpu : report.gpus)
        gpus.push_back(&gpu);
    std::ranges::sort(
        gpus, [](const Gpu* left, const Gpu* right) { return comes_before(*left, *right); });
    return gpus;
}

const Gpu* default_gpu(const Report& report, const std::vector<std::string>& chosen) {
    const auto gpus = in_order(report);
    const auto found = std::ranges::find_if(gpus, [&chosen](const Gpu* gpu) {
        // Without a choice, any GPU that can compute is a default.
        return chosen.empty() ? gpu->kind != GpuKind::DisplayOnly
                              : gpu->id == whole_id(chosen.front());
    });
    return found == gpus.end() ? nullptr : *found;
}

void put_default_first(Report& report, const std::vector<std::string>& chosen) {
    const auto* gpu = default_gpu(report, chosen);
    if (!gpu)
        return;
    const auto place = std::ranges::find(report.gpus, gpu->id, &Gpu::id);
    std::rotate(report.gpus.begin(), place, std::next(place));
}

bool is_alike(const Gpu& left, const Gpu& right) {
    if (left.id == right.id)
        return true;
    // A MIG instance can't be combined with another GPU.
    if (stands_alone(left) || stands_alone(right))
        return false;
    if (!left.vendor || left.vendor != right.vendor)
        return false;
    const auto& architecture = architecture_of(left);
    const auto& other = architecture_of(right);
    if (architecture && other)
        return architecture == other;
    // Same model: the fallback if an architecture is unknown.
    return left.pci && right.pci && left.pci->device_id &&
           left.pci->device_id == right.pci->device_id;
}

}  // namespace gpuprobe::inline policy
