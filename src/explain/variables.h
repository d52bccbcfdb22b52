// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string_view>

namespace gpuprobe {

/// How a variable of the environment changes what a program sees of the GPUs.
enum class VariableKind { HidesDevices, ChoosesDrivers, ClaimsArchitecture };

struct Variable {
    std::string_view name;
    VariableKind kind;
};

/// Those that a program's library or loader reads. Ours are not among them: probes run without.
/// Sources: each vendor's documentation of its environment; the Vulkan loader's
/// LoaderInterfaceArchitecture.md; ocl-icd and OpenCL-ICD-Loader; Mesa's envvars.
constexpr auto kVariables = std::to_array<Variable>({
    {"CUDA_VISIBLE_DEVICES", VariableKind::HidesDevices},
    {"NVIDIA_VISIBLE_DEVICES", VariableKind::HidesDevices},
    {"ROCR_VISIBLE_DEVICES", VariableKind::HidesDevices},
    {"HIP_VISIBLE_DEVICES", VariableKind::HidesDevices},
    {"GPU_DEVICE_ORDINAL", VariableKind::HidesDevices},
    {"ZE_AFFINITY_MASK", VariableKind::HidesDevices},
    {"ONEAPI_DEVICE_SELECTOR", VariableKind::HidesDevices},
    {"GGML_VK_VISIBLE_DEVICES", VariableKind::HidesDevices},
    {"MESA_VK_DEVICE_SELECT", VariableKind::HidesDevices},
    {"VK_LOADER_DEVICE_SELECT", VariableKind::HidesDevices},
    {"DRI_PRIME", VariableKind::HidesDevices},
    {"VK_DRIVER_FILES", VariableKind::ChoosesDrivers},
    {"VK_ICD_FILENAMES", VariableKind::ChoosesDrivers},
    {"VK_LOADER_DRIVERS_SELECT", VariableKind::ChoosesDrivers},
    {"VK_LOADER_DRIVERS_DISABLE", VariableKind::ChoosesDrivers},
    {"OCL_ICD_VENDORS", VariableKind::ChoosesDrivers},
    {"OCL_ICD_FILENAMES", VariableKind::ChoosesDrivers},
    {"LIBGL_ALWAYS_SOFTWARE", VariableKind::ChoosesDrivers},
    {"MESA_LOADER_DRIVER_OVERRIDE", VariableKind::ChoosesDrivers},
    {"HSA_OVERRIDE_GFX_VERSION", VariableKind::ClaimsArchitecture},
});

}  // namespace gpuprobe
