// SPDX-License-Identifier: Apache-2.0
#include "policy/gpu_order.h"

#include <algorithm>
#include <tuple>

#include "base/dotted_version.h"

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

Bytes size_of(const Gpu& gpu) {
    return offered_memory(gpu.memory).value_or(Bytes{});
}

/// Two cards of 24 GiB differ by what their drivers keep.
std::uint64_t whole_gibibytes(Bytes size) {
    return (size.count + mib(512).count) / gib(1).count;
}

/// Of one vendor's GPUs the newer, as far as their numbers tell.
std::optional<Version> generation_of(const Gpu& gpu) {
    const auto& known = gpu.architecture.cuda_compute_capability;
    return known ? leading_version(*known) : std::nullopt;
}

bool comes_before(const Gpu* left, const Gpu* right) {
    const auto order = [](const Gpu& gpu, const Gpu& other) {
        return std::tuple{rank_of(gpu.kind), whole_gibibytes(size_of(other)), generation_of(other),
                          size_of(other), std::string_view{gpu.id}};
    };
    return order(*left, *right) < order(*right, *left);
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
