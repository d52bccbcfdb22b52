// SPDX-License-Identifier: Apache-2.0
#include "engine/trial_ground.h"

#include <array>
#include <functional>

#include "base/version.h"
#include "engine/schedule.h"
#include "inventory/linker_cache.h"
#include "report/trials.h"
#include "store/probe_cache.h"

namespace gpuprobe {
namespace {

struct Libraries {
    std::string_view api;
    std::array<std::string_view, 4> starts;  ///< of sonames; "" is none
};
/// Loader, driver and compiler. Sources: the libraries that the backends open (src/backends); the
/// dependencies of NVIDIA's, ROCm's, Intel NEO's, Mesa's and pocl's Debian packages.
constexpr std::array<Libraries, 5> kLibraries{{
    {"cuda", {"libcuda.so", "libnvidia-ptxjitcompiler.so", "", ""}},
    {"hip", {"libamdhip64.so", "libhsa-runtime64.so", "libhiprtc.so", "libamd_comgr.so"}},
    {"level_zero", {"libze_loader.so", "libze_intel_gpu.so", "libigc.so", ""}},
    {"vulkan", {"libvulkan.so", "libLLVM", "", ""}},
    {"opencl", {"libOpenCL.so", "libLLVM", "libclang-cpp", "libigc.so"}},
}};

std::vector<std::string> sonames_of(const ProbeTarget& target) {
    std::vector<std::string> starts;
    for (const auto& entry : kLibraries)
        for (const auto start : entry.starts)
            if (entry.api == target.api && !start.empty())
                starts.emplace_back(start);
    if (target.library && target.library->find('/') == std::string::npos)
        starts.push_back(*target.library);
    return starts;
}

std::vector<std::string> files_of(const ProbeTarget& target,
                                  const Machine& machine,
                                  const FileSystem& files) {
    std::vector<std::string> watched;
    if (target.api == kCpuApi)
        return watched;
    if (auto paths = library_paths(files, machine.host.arch.value_or(""), sonames_of(target)))
        watched = std::move(*paths);
    if (watched.empty())
        watched.emplace_back(kLinkerCache);
    if (!target.driver.empty())
        watched.push_back(target.driver);
    if (target.library && target.library->starts_with('/'))
        watched.push_back(*target.library);
    return watched;
}

}  // namespace

std::string trial_ground(const ProbeTarget& target,
                         const Machine& machine,
                         const FileSystem& files) {
    auto devices = devices_of(target, machine);
    const auto is_it = [&target](const HardwareDevice* device) {
        return device->id == target.device;
    };
    // A device without an address may be any of the driver's.
    if (target.device && target.device->starts_with("pci:"))
        std::erase_if(devices, std::not_fn(is_it));
    return trial_fingerprint_of(devices, machine.host, files, files_of(target, machine, files),
                                kVersion);
}

}  // namespace gpuprobe
