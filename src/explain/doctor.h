// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/record.h"
#include "explain/explain.h"
#include "report/report.h"

/// Every known reason why a GPU is not used, as checks of a report.
namespace gpuprobe {

/// What a finding means to somebody who wants to use the GPUs.
enum class Severity {
    Ok,       ///< nothing was found
    Info,     ///< good to know, as it is meant to be
    Warning,  ///< something does not work that could
    Error,    ///< a GPU or its usual API can't be used
};
constexpr std::array<EnumName<Severity>, 4> names_of(Severity) {
    return {{{Severity::Ok, "ok"},
             {Severity::Info, "info"},
             {Severity::Warning, "warning"},
             {Severity::Error, "error"}}};
}

/// One thing that keeps a GPU from being used, or could.
struct Finding {
    std::string id = {};  ///< stable; docs/doctor.md has them all
    Severity severity = Severity::Info;
    std::optional<std::string> gpu = {};      ///< nullopt: of the machine
    Value evidence = Value{Value::Object{}};  ///< the facts it rests on; an object
    bool operator==(const Finding&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Finding& finding) {
    visit("id", finding.id);
    visit("severity", finding.severity);
    visit("gpu", finding.gpu);
    visit("evidence", finding.evidence);
}

/// What no report holds: it belongs to the process that asks rather than to the machine, or says
/// nothing about a GPU by itself. A captured machine has none of it.
struct Surroundings {
    /// Variables that change which GPUs a program sees, by name (kVariables); others are not
    /// looked at.
    std::map<std::string, std::string> environment = {};
    std::optional<std::string> kernel_command_line = {};
    std::optional<bool> secure_boot = {};
    std::vector<std::string> vulkan_layers = {};  ///< paths of implicit layers' manifests
    std::vector<std::string> cdi_specs = {};      ///< paths of the Container Device Interface's
    std::optional<bool> has_wsl_libraries = {};   ///< /usr/lib/wsl/lib is there
};

/// What is wrong, those of the machine first, then by GPU in the report's order; each as the list
/// of checks has them. Empty: nothing was found.
std::vector<Finding> examine(const Report& report, const Surroundings& surroundings);

/// What the doctor says about it, and the command or the step that helps.
Explained explain(const Finding& finding);

/// The gravest of them; Ok without any.
Severity gravest(const std::vector<Finding>& findings);

/// How a variable of the environment changes what a program sees of the GPUs.
enum class VariableKind { HidesDevices, ChoosesDrivers, ClaimsArchitecture };

struct Variable {
    std::string_view name;
    VariableKind kind;
};

/// Those that a program's library or loader reads. Ours are not among them, because probes run
/// without them. Sources: each vendor's documentation of its environment; the Vulkan loader's
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
