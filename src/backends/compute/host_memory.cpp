// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/host_memory.h"

#include <string_view>

#include "base/files.h"
#include "base/parse.h"

namespace gpuprobe::backends {

std::optional<Bytes> free_host_memory() {
    constexpr std::string_view kKey = "MemAvailable:";
    const auto text = RootedFiles{}.read("/proc/meminfo", kib(64));
    const auto at = text ? text->find(kKey) : std::string::npos;
    if (at == std::string::npos)
        return std::nullopt;
    const auto pieces = words(std::string_view{*text}.substr(at + kKey.size(), 64));
    const auto kilobytes = pieces.empty() ? std::nullopt : parse_number<std::uint64_t>(pieces[0]);
    return kilobytes ? std::optional{kib(*kilobytes)} : std::nullopt;
}

}  // namespace gpuprobe::backends
