// SPDX-License-Identifier: Apache-2.0
#include "backends/opencl/device_info.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe::backends {

std::optional<std::vector<std::string>> word_list(const std::optional<std::string>& raw) {
    if (!raw)
        return std::nullopt;
    std::vector<std::string> list;
    for (const auto word : words(*raw))
        if (list.size() < kMaxExtensionNames)
            list.push_back(scrubbed(word));
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
    return list;
}

}  // namespace gpuprobe::backends
