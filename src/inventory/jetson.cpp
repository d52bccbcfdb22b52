// SPDX-License-Identifier: Apache-2.0
#include "inventory/jetson.h"

#include "base/parse.h"

namespace gpuprobe {

std::optional<std::string> jetson_release(const FileSystem& files) {
    const auto line = files.line("/etc/nv_tegra_release");
    if (!line)
        return std::nullopt;
    const auto columns = words(*line);
    if (columns.size() < 2 || columns[0] != "#" || !columns[1].starts_with('R'))
        return std::nullopt;
    const auto number = columns[1].substr(1);
    if (number.size() > 3 || !parse_number<unsigned>(number))
        return std::nullopt;
    return std::string{columns[1]};
}

}  // namespace gpuprobe
