// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "backends/backend.h"
#include "backends/cpu/cpu.h"
#include "backends/cuda/cuda.h"
#include "backends/drm/drm.h"
#include "backends/hip/hip.h"
#include "backends/level_zero/level_zero.h"
#include "backends/level_zero/sysman.h"
#include "backends/nvml/nvml.h"
#include "backends/opencl/opencl.h"
#include "backends/pci/pci.h"
#include "backends/vulkan/vulkan.h"

namespace gpuprobe::backends {

std::span<const Backend> registry() {
    static constexpr std::array kBackends = {
        Backend{.api = "cpu", .verify = verify_cpu, .measure = measure_cpu},
        Backend{.api = "cuda", .query = query_cuda, .verify = verify_cuda, .measure = measure_cuda},
        Backend{.api = "drm", .query = query_drm},
        Backend{.api = "hip", .query = query_hip, .verify = verify_hip, .measure = measure_hip},
        Backend{.api = "level_zero",
                .query = query_level_zero,
                .verify = verify_level_zero,
                .measure = measure_level_zero},
        Backend{.api = "level_zero_sysman", .query = query_level_zero_sysman},
        Backend{.api = "nvml", .query = query_nvml},
        Backend{.api = "opencl",
                .query = query_opencl,
                .verify = verify_opencl,
                .measure = measure_opencl},
        Backend{.api = "pci", .query = query_pci},
        Backend{.api = "vulkan",
                .query = query_vulkan,
                .verify = verify_vulkan,
                .measure = measure_vulkan},
    };
    return kBackends;
}

std::optional<Query> stage_of(const Backend& backend, std::string_view stage) {
    if (stage == "query")
        return backend.query;
    if (stage == "verify")
        return backend.verify;
    if (stage == "measure")
        return backend.measure;
    return std::nullopt;
}

}  // namespace gpuprobe::backends
