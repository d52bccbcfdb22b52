// SPDX-License-Identifier: Apache-2.0
#include "backends/vulkan/device_reply.h"

#include <algorithm>

namespace gpuprobe::backends {

bool DeviceReply::lists(const char* extension) const {
    return extensions &&
           std::binary_search(extensions->begin(), extensions->end(), std::string{extension});
}

bool DeviceReply::offers(const Origin& origin) const {
    if (!has_chains)
        return false;
    const auto version = std::min(properties.apiVersion, instance_version);
    return (origin.core != 0 && version >= origin.core) || lists(origin.extension);
}

bool DeviceReply::lacks(const Origin& origin) const {
    const bool is_core = origin.core != 0 && properties.apiVersion >= origin.core;
    return extensions && !is_core && !lists(origin.extension);
}

}  // namespace gpuprobe::backends
