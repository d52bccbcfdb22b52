// SPDX-License-Identifier: Apache-2.0
#include "report/software.h"

#include <array>

#include "base/text.h"
#include "report/fact_key.h"
#include "report/trials.h"

namespace gpuprobe::inline report {
namespace {

/// OpenCL runtimes for processors, by a word in their platform or manifest name. The first match
/// wins. Source: CL_PLATFORM_NAME of pocl ("Portable Computing Language"), of Intel's CPU runtime
/// ("Intel(R) OpenCL") and of AMD's old one ("AMD Accelerated Parallel Processing").
struct CpuRuntime {
    std::string_view word;
    std::string_view name;
};
constexpr std::array kCpuRuntimes = std::to_array<CpuRuntime>({
    {"portable computing language", "pocl"},
    {"pocl", "pocl"},
    {"intel", "Intel OpenCL"},
    {"amd", "AMD OpenCL"},
});

/// The device's name, with the runtime in front if the name does not already start with it.
std::optional<std::string> name_of(const ApiDevice& device) {
    auto name = device.facts->name;
    if (device.probe->api != "opencl")
        return name;
    const auto words = driver_words(device);
    for (const auto& runtime : kCpuRuntimes) {
        if (words.find(runtime.word) == std::string::npos)
            continue;
        const bool says_so = name && lower_case(*name).starts_with(lower_case(runtime.name));
        if (says_so)
            return name;
        return std::string{runtime.name} + (name ? " (" + *name + ")" : "");
    }
    return name;
}

}  // namespace

std::vector<SoftwareDevice> software_of(const std::vector<ApiDevice>& devices,
                                        const std::vector<const ProbeResult*>& probes) {
    std::vector<SoftwareDevice> software;
    for (const auto& device : devices) {
        const auto& driver = device.probe->driver;
        const auto trials = trials_of(probes, device.probe->api, driver, device_key(*device.facts));
        software.push_back(SoftwareDevice{.api = device.probe->api,
                                          .name = name_of(device),
                                          .driver = driver.empty()
                                                        ? fact(*device.facts, facts::kDriverName)
                                                        : std::optional{driver},
                                          .device = value_of(*device.facts),
                                          .verification = trials.verification,
                                          .measurement = trials.measurement,
                                          .score = trials.score});
    }
    return software;
}

}  // namespace gpuprobe::inline report
