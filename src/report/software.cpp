// SPDX-License-Identifier: Apache-2.0
#include "report/software.h"

namespace gpuprobe {

std::vector<SoftwareDevice> software_of(const std::vector<ApiDevice>& devices) {
    std::vector<SoftwareDevice> software;
    for (const auto& device : devices) {
        const auto& driver = device.probe->driver;
        software.push_back(SoftwareDevice{.api = device.probe->api,
                                          .name = device.facts->name,
                                          .driver = driver.empty()
                                                        ? text_fact(*device.facts, "driver_name")
                                                        : std::optional{driver},
                                          .device = value_of(*device.facts)});
    }
    return software;
}

}  // namespace gpuprobe
