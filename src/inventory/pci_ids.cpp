// SPDX-License-Identifier: Apache-2.0
#include "inventory/pci_ids.h"

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "inventory/device_folder.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::string_view kPattern = "pci:v########d########sv########sd########bc##sc##i##";

/// The digits of the field that starts at `at`; nullopt unless the whole text matches kPattern. A
/// field of eight digits gives four: PCI ids have 16 bits.
std::optional<std::string> field(std::string_view modalias, std::size_t at, std::size_t digits) {
    if (modalias.size() != kPattern.size())
        return std::nullopt;
    for (std::size_t i = 0; i < kPattern.size(); ++i)
        if (kPattern[i] != '#' && kPattern[i] != modalias[i])
            return std::nullopt;
    return hex_digits(modalias.substr(at, digits), digits == 8 ? 4 : digits);
}

/// The part before (`which` = 0) or after (1) the colon of "1002:15BF".
std::optional<std::string> half(const std::optional<std::string>& pair, std::size_t which) {
    if (!pair)
        return std::nullopt;
    const auto halves = split(*pair, ':');
    return halves.size() == 2 ? hex_digits(halves[which], 4) : std::nullopt;
}

std::optional<std::string> from_file(const DeviceFolder& folder, std::string_view attribute) {
    const auto text = folder.text(attribute);
    return text ? hex_digits(*text, 4) : std::nullopt;
}

/// Sets `into` if it has no value yet.
void keep(std::optional<std::string>& into, std::optional<std::string> other) {
    if (!into)
        into = std::move(other);
}

constexpr std::size_t kBarCount = 6;  // PCI_STD_NUM_BARS
// include/linux/ioport.h: IORESOURCE_MEM, IORESOURCE_PREFETCH, IORESOURCE_MEM_64
constexpr std::uint64_t kMemory = 0x200;
constexpr std::uint64_t kPrefetchable = 0x2000;
constexpr std::uint64_t kMemory64 = 0x100000;
constexpr std::uint64_t kWanted = kMemory | kPrefetchable | kMemory64;

/// The size of the BAR in a line "start end flags"; nullopt unless it is a prefetchable 64-bit one.
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

PciIds ids_from_modalias(std::string_view modalias) {
    // The positions of the '#' runs in kPattern.
    return PciIds{.vendor = field(modalias, 5, 8),
                  .device = field(modalias, 14, 8),
                  .subsystem_vendor = field(modalias, 24, 8),
                  .subsystem_device = field(modalias, 34, 8)};
}

std::optional<std::string> class_from_modalias(std::string_view modalias) {
    const auto base = field(modalias, 44, 2);
    const auto sub = field(modalias, 48, 2);
    const auto interface = field(modalias, 51, 2);
    return base && sub && interface ? std::optional{*base + *sub + *interface} : std::nullopt;
}

PciIds pci_ids_of(const DeviceFolder& folder) {
    PciIds ids{.vendor = from_file(folder, "vendor"),
               .device = from_file(folder, "device"),
               .subsystem_vendor = from_file(folder, "subsystem_vendor"),
               .subsystem_device = from_file(folder, "subsystem_device")};
    // Fill the gaps from the uevent, then from the modalias.
    const auto alias = ids_from_modalias(folder.modalias().value_or(""));
    const auto id = folder.uevent("PCI_ID");
    const auto subsystem = folder.uevent("PCI_SUBSYS_ID");
    keep(ids.vendor, half(id, 0));
    keep(ids.vendor, alias.vendor);
    keep(ids.device, half(id, 1));
    keep(ids.device, alias.device);
    keep(ids.subsystem_vendor, half(subsystem, 0));
    keep(ids.subsystem_vendor, alias.subsystem_vendor);
    keep(ids.subsystem_device, half(subsystem, 1));
    keep(ids.subsystem_device, alias.subsystem_device);
    if (ids.subsystem_vendor == "0000") {
        ids.subsystem_vendor.reset();
        ids.subsystem_device.reset();
    }
    return ids;
}

std::optional<Bytes> largest_aperture(std::string_view resource) {
    std::optional<Bytes> largest;
    const auto lines = split(resource, '\n');
    for (std::size_t i = 0; i < std::min(lines.size(), kBarCount); ++i)
        largest = std::max(largest, aperture(lines[i]));
    return largest;
}

}  // namespace gpuprobe::inline inventory
