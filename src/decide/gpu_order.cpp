// SPDX-License-Identifier: Apache-2.0
#include "decide/gpu_order.h"

#include <algorithm>
#include <tuple>

namespace gpuprobe {
namespace {

int rank_of(GpuKind kind) {
    switch (kind) {
        case GpuKind::Discrete:
            return 0;
        case GpuKind::Integrated:
            return 1;
        case GpuKind::Virtual:
            return 2;
        case GpuKind::Unknown:
            return 3;
        case GpuKind::DisplayOnly:
            return 4;
    }
    return 5;
}

bool comes_before(const Gpu* left, const Gpu* right) {
    const auto left_size = offered_memory(left->memory).value_or(Bytes{});
    const auto right_size = offered_memory(right->memory).value_or(Bytes{});
    return std::tuple{rank_of(left->kind), right_size, std::string_view{left->id}} <
           std::tuple{rank_of(right->kind), left_size, std::string_view{right->id}};
}

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
    std::ranges::sort(gpus, comes_before);
    return gpus;
}

bool is_alike(const Gpu& left, const Gpu& right) {
    if (left.id == right.id)
        return true;
    if (!left.vendor || left.vendor != right.vendor)
        return false;
    const auto& architecture = architecture_of(left);
    const auto& other = architecture_of(right);
    if (architecture && other)
        return architecture == other;
    return left.pci && right.pci && left.pci->device_id &&
           left.pci->device_id == right.pci->device_id;
}

}  // namespace gpuprobe
