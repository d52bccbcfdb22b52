// SPDX-License-Identifier: Apache-2.0
#include "inventory/pci_resource.h"

#include <algorithm>
#include <limits>

#include "base/parse.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kBarCount = 6;  // PCI_STD_NUM_BARS
constexpr std::uint64_t kMemory = 0x200;
constexpr std::uint64_t kPrefetchable = 0x2000;
constexpr std::uint64_t kMemory64 = 0x100000;
constexpr std::uint64_t kWanted = kMemory | kPrefetchable | kMemory64;

std::optional<Bytes> aperture(std::string_view line) {
    const auto columns = words(line);
    if (columns.size() != 3)
        return std::nullopt;
    const auto start = parse_hex<std::uint64_t>(columns[0]);
    const auto end = parse_hex<std::uint64_t>(columns[1]);
    const auto flags = parse_hex<std::uint64_t>(columns[2]);
    if (!start || !end || !flags || (*flags & kWanted) != kWanted || *end <= *start)
        return std::nullopt;
    const auto length = *end - *start;
    return length == std::numeric_limits<std::uint64_t>::max() ? std::nullopt
                                                               : std::optional{Bytes{length + 1}};
}

}  // namespace

std::optional<Bytes> largest_aperture(std::string_view resource) {
    std::optional<Bytes> largest;
    const auto lines = split(resource, '\n');
    for (std::size_t i = 0; i < std::min(lines.size(), kBarCount); ++i)
        largest = std::max(largest, aperture(lines[i]));
    return largest;
}

}  // namespace gpuprobe::inline inventory
