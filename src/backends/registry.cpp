// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "backends/backend.h"
#include "backends/cuda/cuda.h"
#include "backends/hip/hip.h"
#include "backends/nvml/nvml.h"
#include "backends/opencl/opencl.h"
#include "backends/pci/pci.h"
#include "backends/vulkan/vulkan.h"

namespace gpuprobe {

std::span<const Backend> backends() {
    static constexpr std::array kBackends = {
        Backend{.api = "cuda", .query = query_cuda},
        Backend{.api = "hip", .query = query_hip},
        Backend{.api = "nvml", .query = query_nvml},
        Backend{.api = "opencl", .query = query_opencl},
        Backend{.api = "pci", .query = query_pci},
        Backend{.api = "vulkan", .query = query_vulkan},
    };
    return kBackends;
}

}  // namespace gpuprobe
