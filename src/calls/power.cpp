// SPDX-License-Identifier: Apache-2.0
#include "calls/power.h"

namespace gpuprobe::inline calls {

std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu) {
    if (gpu.pci && gpu.pci->address)
        if (auto status = files.line("/sys/bus/pci/devices/" + text_of(*gpu.pci->address) +
                                     "/power/runtime_status"))
            return status;
    return gpu.power.runtime_status;
}

bool is_asleep(const FileSystem& files, const Gpu& gpu) {
    const auto state = power_state(files, gpu);
    return state == "suspended" || state == "suspending";
}

}  // namespace gpuprobe::inline calls
