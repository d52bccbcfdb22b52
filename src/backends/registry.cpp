// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "backends/backend.h"
#include "backends/compute/stages.h"
#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/drm/drm.h"
#include "backends/hip/hip.h"
#include "backends/level_zero/level_zero.h"
#include "backends/nvml/nvml.h"
#include "backends/opencl/opencl.h"
#include "backends/pci/pci.h"
#include "backends/vulkan/vulkan.h"

namespace gpuprobe::backends {

std::span<const Backend> registry() {
    static constexpr std::array kBackends = {
        Backend{.api = "cpu", .compute = visit_cpu, .device = "index:0"},
        Backend{.api = "cuda", .query = query_devices<visit_cuda>, .compute = visit_cuda},
        Backend{.api = "drm", .query = query_drm},
        Backend{.api = "hip", .query = query_devices<visit_rocm>, .compute = visit_hip},
        Backend{.api = "level_zero",
                .query = query_devices<visit_level_zero>,
                .compute = visit_level_zero},
        Backend{.api = "level_zero_sysman", .query = query_level_zero_sysman},
        Backend{.api = "nvml", .query = query_nvml},
        Backend{.api = "opencl", .query = query_devices<visit_opencl>, .compute = visit_opencl},
        Backend{.api = "pci", .query = query_pci},
        Backend{.api = "vulkan", .query = query_devices<visit_vulkan>, .compute = visit_vulkan},
    };
    return kBackends;
}

}  // namespace gpuprobe::backends
