// SPDX-License-Identifier: Apache-2.0
#include "inventory/jetson.h"

#include "base/text.h"

namespace gpuprobe::inline inventory {

std::optional<std::string> jetson_release(const FileSystem& files) {
    const auto line = files.line("/etc/nv_tegra_release");
    if (!line)
        return std::nullopt;
    // "# R36 (release), REVISION: 3.0, …"
    const auto columns = words(*line);
    if (columns.size() < 2 || columns[0] != "#" || !columns[1].starts_with('R'))
        return std::nullopt;
    const auto number = columns[1].substr(1);
    if (number.size() > 3 || !parse_number<unsigned>(number))
        return std::nullopt;
    return std::string{columns[1]};
}

std::optional<std::string> driver_of_jetson(std::string_view release) {
    constexpr unsigned kLastWithItsOwnNumber = 35;
    constexpr unsigned kWithBranch540 = 36;
    const auto number = parse_number<unsigned>(release.substr(release.starts_with('R') ? 1 : 0));
    if (!number || *number > kWithBranch540)
        return std::nullopt;
    return *number <= kLastWithItsOwnNumber ? std::to_string(*number) : "540";
}

}  // namespace gpuprobe::inline inventory
