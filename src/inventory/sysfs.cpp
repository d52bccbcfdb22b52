// SPDX-License-Identifier: Apache-2.0
#include "inventory/sysfs.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/text.h"
#include "report/fact_key.h"

namespace gpuprobe::inline inventory {
namespace {

/// The first line, up to the first NUL, because some attributes are padded with NULs (amdgpu's
/// unique_id).
std::string_view first_line(std::string_view text) {
    text = text.substr(0, text.find('\n'));
    return trimmed(text.substr(0, text.find('\0')));
}

}  // namespace

void Sysfs::note(std::string text) const {
    if (notes_.size() < kMaxNotes)
        notes_.push_back(scrubbed(text));
}

void Sysfs::note(const Error& error) const {
    // Most attributes exist only with some drivers and kernels, so a missing file needs no note.
    if (error.code != ErrorCode::NotFound)
        note(error.text);
}

std::optional<std::string> Sysfs::content(const std::string& path) const {
    auto text = files_.read(path, kMaxAttribute);
    if (!text) {
        note(text.error());
        return std::nullopt;
    }
    return std::move(text).value();
}

std::optional<std::string> Sysfs::text(const std::string& path) const {
    const auto whole = content(path);
    if (!whole)
        return std::nullopt;
    auto line = scrubbed(first_line(*whole));
    return line.empty() ? std::nullopt : std::optional{std::move(line)};
}

std::optional<std::uint64_t> Sysfs::number(const std::string& path) const {
    const auto line = text(path);
    return line ? parse_number<std::uint64_t>(*line) : std::nullopt;
}

std::vector<std::string> Sysfs::names(const std::string& folder) const {
    auto list = files_.list(folder);
    if (list)
        return std::move(list).value();
    note(list.error());
    return {};
}

std::optional<std::string> Sysfs::link_name(const std::string& path) const {
    const auto target = files_.link_target(path);
    if (!target)
        return std::nullopt;  // no note, because in some captures this is a plain folder
    auto name = scrubbed(base_name(*target));
    return name.empty() ? std::nullopt : std::optional{std::move(name)};
}

std::optional<std::string> Sysfs::resolved(const std::string& path) const {
    auto real = files_.real_path(path);
    if (real)
        return std::move(real).value();
    note(real.error());
    return std::nullopt;
}

KeyValues Sysfs::key_values(const std::string& path) const {
    KeyValues values;
    const auto whole = content(path);
    if (!whole)
        return values;
    for (const auto line : split(*whole, '\n')) {
        const auto equals = line.find('=');
        if (equals != std::string_view::npos)
            values.emplace(scrubbed(line.substr(0, equals)), scrubbed(line.substr(equals + 1)));
    }
    return values;
}

std::string_view base_name(std::string_view path) {
    const auto slash = path.find_last_of('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view folder_of(std::string_view path) {
    const auto slash = path.find_last_of('/');
    return slash == std::string_view::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::optional<std::string> hex_digits(std::string_view text, std::size_t digits) {
    const auto number = parse_hex<std::uint64_t>(text);
    if (!number)
        return std::nullopt;
    std::string hex;
    // Pad with zeros up to `digits`. A number that needs more digits is rejected instead of being
    // cut off.
    for (auto rest = *number; rest != 0 || hex.size() < digits; rest >>= 4)
        hex.insert(hex.begin(), "0123456789abcdef"[rest & 0xf]);
    return hex.size() == digits ? std::optional{std::move(hex)} : std::nullopt;
}

std::uint64_t little_endian(std::string_view bytes) {
    std::uint64_t number = 0;
    for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
        number = number << 8 | static_cast<unsigned char>(*byte);
    return number;
}

namespace {

constexpr std::string_view kPattern = "pci:v########d########sv########sd########bc##sc##i##";

/// The digits of the field that begins at `at`; nullopt unless the whole string matches kPattern.
/// Only four digits of a field of eight digits are used, because PCI ids have 16 bits.
std::optional<std::string> field(std::string_view modalias, std::size_t at, std::size_t digits) {
    if (modalias.size() != kPattern.size())
        return std::nullopt;
    for (std::size_t i = 0; i < kPattern.size(); ++i)
        if (kPattern[i] != '#' && kPattern[i] != modalias[i])
            return std::nullopt;
    return hex_digits(modalias.substr(at, digits), digits == 8 ? 4 : digits);
}

/// The part before the colon (`which` = 0) or after the colon (`which` = 1) in a string such as
/// "1002:15BF".
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

/// Sets `into` if `into` has no value yet.
void keep(std::optional<std::string>& into, std::optional<std::string> other) {
    if (!into)
        into = std::move(other);
}

/// The ids of a function. Each id comes from the file `vendor`, `device`, `subsystem_vendor` or
/// `subsystem_device`, otherwise from PCI_ID or PCI_SUBSYS_ID in the uevent, otherwise from the
/// modalias. A subsystem vendor of 0000 is treated as missing, because 0000 means that the function
/// has no subsystem ids (PCI Local Bus specification 3.0, section 6.2.4).
PciIds pci_ids_of(const DeviceFolder& folder) {
    PciIds ids{.vendor = from_file(folder, "vendor"),
               .device = from_file(folder, "device"),
               .subsystem_vendor = from_file(folder, "subsystem_vendor"),
               .subsystem_device = from_file(folder, "subsystem_device")};
    // Take the ids that are still missing from the uevent, then from the modalias.
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

constexpr std::size_t kBarCount = 6;  // PCI_STD_NUM_BARS
// include/linux/ioport.h: IORESOURCE_MEM, IORESOURCE_PREFETCH, IORESOURCE_MEM_64
constexpr std::uint64_t kMemory = 0x200;
constexpr std::uint64_t kPrefetchable = 0x2000;
constexpr std::uint64_t kMemory64 = 0x100000;
constexpr std::uint64_t kWanted = kMemory | kPrefetchable | kMemory64;

/// The size of the BAR that a line "start end flags" describes; nullopt unless the BAR is a
/// prefetchable 64-bit BAR.
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
    // The numbers are the positions and lengths of the runs of '#' in kPattern.
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

std::optional<Bytes> largest_aperture(std::string_view resource) {
    std::optional<Bytes> largest;
    const auto lines = split(resource, '\n');
    for (std::size_t i = 0; i < std::min(lines.size(), kBarCount); ++i)
        largest = std::max(largest, aperture(lines[i]));
    return largest;
}

namespace {

constexpr std::size_t kMaxCompatible = 16;

}  // namespace

std::vector<std::string> compatible_of(const Sysfs& sysfs, const DeviceFolder& folder) {
    std::vector<std::string> names;
    const auto add = [&names](std::string_view name) {
        if (!name.empty() && names.size() < kMaxCompatible)
            names.push_back(scrubbed(name));
    };
    if (const auto list = sysfs.content(folder.path() + "/of_node/compatible"))
        for (const auto name : split(*list, '\0'))
            add(trimmed(name));
    // If the file `compatible` is missing, use OF_COMPATIBLE_0, _1, … from the uevent. The loop
    // stops at the first missing number, and does nothing if the file `compatible` contained names.
    for (std::size_t i = 0; names.size() == i && i < kMaxCompatible; ++i)
        if (const auto name = folder.uevent("OF_COMPATIBLE_" + std::to_string(i)))
            add(*name);
    return names;
}

namespace {

std::optional<bool> flag_from(const std::optional<std::string>& text) {
    if (!text || (*text != "0" && *text != "1"))
        return std::nullopt;
    return *text == "1";
}

std::optional<int> numa_node_of(const DeviceFolder& folder) {
    const auto text = folder.text("numa_node");
    const auto node = text ? parse_number<int>(*text) : std::nullopt;
    // The firmware names no node if the value is -1.
    return node && *node >= 0 ? node : std::nullopt;
}

/// The number of lanes; nullopt for 0 and 255, which mean that the width is unknown
/// (drivers/pci/pci-sysfs.c).
std::optional<std::uint32_t> lanes(const std::optional<std::string>& text) {
    constexpr std::uint32_t kMost = 32;
    const auto count = text ? parse_number<std::uint32_t>(*text) : std::nullopt;
    return count && *count > 0 && *count <= kMost ? count : std::nullopt;
}

/// The device's type of IOMMU domain ("dma", "dma-fq" or "identity"), in lower case; nullopt for
/// the other types in iommu_group_show_type() of drivers/iommu/iommu.c, which don't occur while a
/// driver of this machine uses the device. Source:
/// Documentation/ABI/testing/sysfs-kernel-iommu_groups, "type".
std::optional<std::string> iommu_of(const DeviceFolder& folder) {
    constexpr std::array kTypes{"dma", "dma-fq", "identity"};
    const auto type = lower_case(folder.text("iommu_group/type").value_or(""));
    return std::ranges::find(kTypes, type) == kTypes.end() ? std::nullopt : std::optional{type};
}

/// An id such as "pci:0000:01:00.0", or the subsystem and the folder's name, as in "platform:gpu".
std::string id_of(const DeviceFolder& folder) {
    if (const auto address = folder.pci_address())
        return "pci:" + text_of(*address);
    return folder.subsystem().value_or("other") + ":" + scrubbed(folder.name(), 128);
}

/// Adds the facts that exist only for PCI devices.
void fill_pci(const Sysfs& sysfs, const DeviceFolder& folder, HardwareDevice& device) {
    device.pci = folder.pci_address();
    if (const auto full = folder.pci_class())
        device.pci_class = full->substr(0, 4);
    const auto ids = pci_ids_of(folder);
    device.vendor_id = ids.vendor;
    device.device_id = ids.device;
    device.subsystem_vendor_id = ids.subsystem_vendor;
    device.subsystem_device_id = ids.subsystem_device;
    if (const auto revision = folder.text("revision"))
        device.revision = hex_digits(*revision, 2);
    device.boot_vga = flag_from(folder.text("boot_vga"));
    if (const auto resource = sysfs.content(folder.path() + "/resource"))
        device.largest_bar = largest_aperture(*resource);
    // Read the link's width only if the device is active, because reading it would wake a suspended
    // device.
    if (folder.text("power/runtime_status") == "active") {
        device.link_width = lanes(folder.text("current_link_width"));
        device.max_link_width = lanes(folder.text("max_link_width"));
    }
    if (auto iommu = iommu_of(folder))
        device.extra[kernel_facts::kIommu.name] = std::move(*iommu);
    if (const auto physical = sysfs.link_name(folder.path() + "/physfn"))
        if (const auto address = parse_text(*physical, std::type_identity<PciAddress>{}))
            device.physical_function = "pci:" + text_of(*address);
}

}  // namespace

DeviceFolder::DeviceFolder(const Sysfs& sysfs, std::string path)
    : sysfs_{sysfs}, path_{std::move(path)}, uevent_{sysfs.key_values(path_ + "/uevent")} {}

std::string_view DeviceFolder::name() const {
    const auto last = base_name(path_);
    return last == "device" ? base_name(folder_of(path_)) : last;
}

std::optional<std::string> DeviceFolder::text(std::string_view attribute) const {
    return sysfs_.text(path_ + "/" + std::string{attribute});
}

std::optional<std::string> DeviceFolder::uevent(std::string_view key) const {
    const auto found = uevent_.find(key);
    return found == uevent_.end() || found->second.empty() ? std::nullopt
                                                           : std::optional{found->second};
}

std::optional<std::string> DeviceFolder::subsystem() const {
    // In many captures, the link to the subsystem is missing, so use the keys, the name or the path
    // of the device instead.
    if (auto linked = sysfs_.link_name(path_ + "/subsystem"))
        return linked;
    if (pci_address() || uevent("PCI_ID"))
        return "pci";
    if (name().starts_with("virtio"))
        return "virtio";
    if (uevent("OF_FULLNAME") || path_.find("/platform/") != std::string::npos)
        return "platform";
    return std::nullopt;
}

std::optional<std::string> DeviceFolder::driver() const {
    if (auto linked = sysfs_.link_name(path_ + "/driver"))
        return linked;
    return uevent("DRIVER");
}

std::optional<std::string> DeviceFolder::modalias() const {
    auto alias = text("modalias");
    return alias ? alias : uevent("MODALIAS");
}

std::optional<PciAddress> DeviceFolder::pci_address() const {
    if (auto address = parse_text(name(), std::type_identity<PciAddress>{}))
        return address;
    // In a capture, the device's folder may have a name that isn't the address.
    const auto slot = uevent("PCI_SLOT_NAME");
    return slot ? parse_text(*slot, std::type_identity<PciAddress>{}) : std::nullopt;
}

std::optional<std::string> DeviceFolder::pci_class() const {
    if (const auto attribute = text("class"))
        if (auto digits = hex_digits(*attribute, 6))
            return digits;
    if (const auto key = uevent("PCI_CLASS"))
        if (auto digits = hex_digits(*key, 6))
            return digits;
    return class_from_modalias(modalias().value_or(""));
}

HardwareDevice device_from(const Sysfs& sysfs, const DeviceFolder& folder) {
    const auto subsystem = folder.subsystem();
    HardwareDevice device{.id = id_of(folder),
                          .bus = subsystem == "pci"        ? HardwareBus::Pci
                                 : subsystem == "platform" ? HardwareBus::Platform
                                                           : HardwareBus::Other,
                          .sysfs_path = folder.path(),
                          .numa_node = numa_node_of(folder),
                          .driver = folder.driver(),
                          .modalias = folder.modalias(),
                          .compatible = compatible_of(sysfs, folder),
                          .runtime_status = folder.text("power/runtime_status")};
    if (device.bus == HardwareBus::Pci)
        fill_pci(sysfs, folder, device);
    return device;
}

}  // namespace gpuprobe::inline inventory
