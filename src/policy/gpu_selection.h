// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// The report's GPUs in the order of comes_before(), regardless of their order in the report.
/// Borrowed from the report.
std::vector<const Gpu*> in_order(const Report& report);

/// The first GPU that a decision names, or the GPU whose partition the decision names. If the
/// decision names no GPU, the result is the first GPU that isn't display-only. The result is null
/// if there is no such GPU. Borrowed from the report.
const Gpu* default_gpu(const Report& report, const std::vector<std::string>& chosen);

/// Moves the default GPU to the front and keeps the order of the other GPUs.
void put_default_first(Report& report, const std::vector<std::string>& chosen);

/// Whether the same build and the same choices are suitable for both GPUs. Two GPUs are alike if
/// they have the same vendor and architecture; if an architecture is unknown, the same vendor and
/// PCI device id. The result is always true if both are the same GPU.
bool is_alike(const Gpu& left, const Gpu& right);

/// The chosen GPUs, best first, and the report about their machine.
struct Selection {
    const Report& report;
    std::vector<const Gpu*> gpus = {};  // borrowed from the report
};

/// The version of the Mesa driver that serves the GPU through Vulkan. The device-select layer that
/// Mesa releases together with the driver has the same version; nullopt for other drivers and if
/// the version is unknown.
std::optional<Version> mesa_version(const Gpu& gpu);

/// Whether Mesa's device-select layer is known not to be installed, so that Vulkan programs ignore
/// MESA_VK_DEVICE_SELECT and DRI_PRIME.
bool lacks_device_select(const Report& report);

/// The name that the machine's OpenCL loader reports, which is "ocl-icd" or "khronos"; nullopt if
/// unknown.
std::optional<std::string> opencl_loader(const Report& report);
constexpr std::string_view kOclIcd = "ocl-icd";

/// Whether environment templates may contain the fact (docs/data-files.md lists these facts).
bool is_selector_fact(std::string_view name);

/// The value that makes a runtime use exactly the selected GPUs; nullopt if the value is unknown
/// for one of the GPUs, or if it would not exclude the machine's other GPUs.
///
/// The value is an index only if the template can also request the order of the GPUs, so that the
/// index does not depend on the environment in which the GPUs were probed.
std::optional<std::string> selector_fact(std::string_view name, const Selection& selection);

}  // namespace gpuprobe::inline policy
