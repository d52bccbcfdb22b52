// SPDX-License-Identifier: Apache-2.0
#include "inventory/amdgpu.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>

#include "base/text.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxMonitors = 16;

/// A file that contains a memory size, and the value of the member `what` for a reading from this
/// file.
struct MemoryFile {
    const char* file;
    const char* what;
    bool zero_is_unknown;  ///< a total of 0 bytes means unknown, but 0 used bytes is a valid value
};
constexpr std::array<MemoryFile, 6> kMemoryFiles{{
    {"mem_info_vram_total", "total", true},
    {"mem_info_vram_used", "used", false},
    {"mem_info_vis_vram_total", "visible-total", true},
    {"mem_info_vis_vram_used", "visible-used", false},
    {"mem_info_gtt_total", "gtt-total", true},
    {"mem_info_gtt_used", "gtt-used", false},
}};

/// Adds the content of a file in lower case, unless the driver reports "unknown".
void add_text(const Sysfs& sysfs, const char* file, std::string_view key, HardwareDevice& device) {
    const auto text = sysfs.text(device.sysfs_path + "/" + file);
    if (text && *text != "unknown")
        device.extra[key] = lower_case(*text);
}

/// Only lists the names of the files, because reading a sensor would wake the GPU.
void add_sensor_facts(const Sysfs& sysfs, HardwareDevice& device) {
    const auto folder = device.sysfs_path + "/hwmon";
    auto monitors = sysfs.names(folder);
    monitors.resize(std::min(monitors.size(), kMaxMonitors));
    for (const auto& monitor : monitors) {
        const auto sensors = sysfs.names(folder + "/" + monitor);
        if (sensors.empty())
            continue;
        const bool is_listed = std::ranges::find(sensors, "in1_input") != sensors.end();
        device.extra["has_vddnb"] =
            is_listed || device.extra.at("has_vddnb").as_bool().value_or(false);
    }
}

/// The name of a device and revision in amdgpu.ids, whose lines are "744C,<tab>C8,<tab>AMD Radeon
/// RX 7900 XTX"; pci.ids has one name for all revisions. nullopt for the generic name "AMD Radeon
/// Graphics", which is less specific than the name in pci.ids.
std::optional<std::string> listed_name(const Sysfs& sysfs, const HardwareDevice& device) {
    const auto table = sysfs.content("/usr/share/libdrm/amdgpu.ids");
    if (!table || !device.device_id || !device.revision)
        return std::nullopt;
    for (const auto line : split(*table, '\n')) {
        const auto first = line.find(',');
        const auto second = line.find(',', first + 1);
        if (second == std::string_view::npos || line.starts_with('#') ||
            lower_case(trimmed(line.substr(0, first))) != *device.device_id ||
            lower_case(trimmed(line.substr(first + 1, second - first - 1))) != *device.revision)
            continue;
        const auto name = scrubbed(trimmed(line.substr(second + 1)));
        return name == "AMD Radeon Graphics" ? std::nullopt : std::optional{name};
    }
    return std::nullopt;
}

}  // namespace

std::vector<MemoryReading> amdgpu_memory(const Sysfs& sysfs, const HardwareDevice& device) {
    std::vector<MemoryReading> readings;
    if (device.driver != "amdgpu")
        return readings;
    for (const auto& row : kMemoryFiles) {
        const auto size = sysfs.number(device.sysfs_path + "/" + row.file);
        if (!size || *size > kMaxPlausibleMemory.count || (row.zero_is_unknown && *size == 0))
            continue;
        readings.push_back({.source = "amdgpu-sysfs", .what = row.what, .bytes = Bytes{*size}});
    }
    return readings;
}

std::optional<std::string> amd_serial(std::uint64_t serial) {
    if (serial == 0)
        return std::nullopt;
    std::string digits(16, '0');
    for (auto digit = digits.rbegin(); digit != digits.rend(); ++digit, serial >>= 4)
        *digit = "0123456789abcdef"[serial & 0xf];
    return digits;
}

void add_amdgpu_facts(const Sysfs& sysfs, HardwareDevice& device) {
    if (device.vendor_id == "1002")
        device.model = listed_name(sysfs, device);
    if (device.driver != "amdgpu")
        return;
    for (auto& reading : amdgpu_memory(sysfs, device))
        device.memory.push_back(std::move(reading));
    // The file product_name contains the name from the board's FRU memory, which takes precedence
    // over the name from the table.
    if (auto name = sysfs.text(device.sysfs_path + "/product_name"))
        device.model = std::move(name);
    if (const auto text = sysfs.text(device.sysfs_path + "/unique_id"))
        if (const auto serial = parse_hex<std::uint64_t>(*text))
            device.uuid = amd_serial(*serial);
    add_text(sysfs, "mem_info_vram_vendor", "vram_vendor", device);
    add_sensor_facts(sysfs, device);
    if (sysfs.exists(device.sysfs_path + "/board_info"))
        device.extra["has_board_info"] = true;
    if (device.runtime_status == "suspended" || device.runtime_status == "suspending")
        return;
    // Reading the partition modes may wake a suspended GPU.
    add_text(sysfs, "current_compute_partition", "compute_partition", device);
    add_text(sysfs, "current_memory_partition", "memory_partition", device);
}

namespace {

constexpr std::size_t kMaxKfdNodes = 256;
constexpr std::size_t kMaxBanks = 64;
constexpr const char* kNodes = "/sys/class/kfd/kfd/topology/nodes";
constexpr std::string_view kPartitionDevice = "platform:amdgpu_xcp";
constexpr std::string_view kDriver = "amdgpu";

// include/uapi/linux/kfd_sysfs.h: HSA_MEM_HEAP_TYPE_FB_PUBLIC and _FB_PRIVATE
constexpr std::uint64_t kFrameBufferPublic = 1;
constexpr std::uint64_t kFrameBufferPrivate = 2;

/// The lines of a file that consist of a key and a number; all other lines are skipped.
std::map<std::string, std::uint64_t, std::less<>> properties(const Sysfs& sysfs,
                                                             const std::string& path) {
    std::map<std::string, std::uint64_t, std::less<>> values;
    const auto text = sysfs.content(path);
    if (!text)
        return values;
    for (const auto line : split(*text, '\n')) {
        const auto pair = words(line);
        const auto number = pair.size() == 2 ? parse_number<std::uint64_t>(pair[1]) : std::nullopt;
        if (number)
            values.emplace(pair[0], *number);
    }
    return values;
}

template <class T>
std::optional<T> value_at(const std::map<std::string, std::uint64_t, std::less<>>& values,
                          std::string_view key) {
    const auto found = values.find(key);
    if (found == values.end() || !std::in_range<T>(found->second))
        return std::nullopt;
    return static_cast<T>(found->second);
}

/// The total size of a node's frame buffer banks; nullopt if the node has no frame buffer banks.
std::optional<Bytes> frame_buffer(const Sysfs& sysfs, const std::string& node_folder) {
    std::optional<Bytes> sum;
    const auto folder = node_folder + "/mem_banks";
    auto banks = sysfs.names(folder);
    banks.resize(std::min(banks.size(), kMaxBanks));
    for (const auto& bank : banks) {
        const auto values = properties(sysfs, folder + "/" + bank + "/properties");
        const auto type = value_at<std::uint64_t>(values, "heap_type");
        const auto size = value_at<std::uint64_t>(values, "size_in_bytes");
        const bool is_frame_buffer = type == kFrameBufferPublic || type == kFrameBufferPrivate;
        if (is_frame_buffer && size && *size > 0 && *size <= kMaxPlausibleMemory.count)
            sum = Bytes{sum.value_or(Bytes{}).count + *size};
    }
    return sum;
}

/// The KFD node of a GPU; nullopt if the node is a CPU or its properties can't be read.
std::optional<KfdNode> gpu_node(const Sysfs& sysfs, std::uint32_t number) {
    const auto folder = std::string{kNodes} + "/" + std::to_string(number);
    const auto values = properties(sysfs, folder + "/properties");
    const auto simd_count = value_at<std::uint64_t>(values, "simd_count");
    const auto location = value_at<std::uint32_t>(values, "location_id");
    if (!simd_count || *simd_count == 0 || !location)
        return std::nullopt;  // the node is a CPU or is unreadable
    KfdNode node{.number = number,
                 .domain = value_at<std::uint32_t>(values, "domain"),
                 .location = *location & 0xffff,
                 .partition = *location >> 28,
                 .render_minor = value_at<std::uint32_t>(values, "drm_render_minor"),
                 .simd_count = simd_count,
                 .simd_per_cu = value_at<std::uint64_t>(values, "simd_per_cu"),
                 .cpu_cores = value_at<std::uint64_t>(values, "cpu_cores_count"),
                 .memory = frame_buffer(sysfs, folder)};
    if (node.render_minor == 0U)
        node.render_minor.reset();  // render minors start at 128; 0 means no render node
    if (const auto version = value_at<std::uint64_t>(values, "gfx_target_version"))
        node.gfx_target = gfx_target_name(*version);
    if (const auto serial = value_at<std::uint64_t>(values, "unique_id"))
        node.unique_id = amd_serial(*serial);
    return node;
}

/// True if the device has the same bus and device number as the node. The function number is
/// ignored, because many kernels replace it with the number of the partition.
bool shares_slot(const HardwareDevice& device, const KfdNode& node) {
    if (!device.pci || (node.domain && *node.domain != device.pci->domain))
        return false;
    return node.location >> 3 == (static_cast<unsigned>(device.pci->bus) << 5 |
                                  static_cast<unsigned>(device.pci->device));
}

/// True if the device has the same PCI address as the node, including the domain.
bool sits_at(const HardwareDevice& device, const KfdNode& node) {
    return shares_slot(device, node) && (node.location & 7) == device.pci->function;
}

/// True if the device has the same render node as the KFD node.
bool renders_on(const HardwareDevice& device, const KfdNode& node) {
    return node.render_minor && device.drm.render == "226:" + std::to_string(*node.render_minor);
}

/// True for platform devices that amdgpu creates for partitions, whether or not the partitions
/// exist. The platform devices have neither a driver nor a parent.
bool is_partition_device(const HardwareDevice& device) {
    return device.id.starts_with(kPartitionDevice);
}

/// False if the kernel does not expose the PCI domain, and two GPUs, or two nodes, have the same
/// address.
bool address_is_unique(const KfdNode& node,
                       const std::vector<KfdNode>& nodes,
                       const std::vector<HardwareDevice>& devices) {
    if (node.domain)
        return true;
    return std::ranges::count_if(
               devices, [&node](const auto& device) { return sits_at(device, node); }) == 1 &&
           std::ranges::count_if(nodes, [&node](const KfdNode& other) {
               return other.location == node.location && other.partition == node.partition;
           }) == 1;
}

template <class Matches>
HardwareDevice* only_device(std::vector<HardwareDevice>& devices, Matches matches) {
    HardwareDevice* found = nullptr;
    for (auto& device : devices) {
        if (is_partition_device(device) || !matches(device))
            continue;
        if (found)
            return nullptr;
        found = &device;
    }
    return found;
}

/// The physical device of a node, according to the rules of join_kfd(); nullptr if no rule matches
/// exactly one device.
HardwareDevice* device_of(const KfdNode& node,
                          const std::vector<KfdNode>& nodes,
                          std::vector<HardwareDevice>& devices) {
    if (auto* device = only_device(devices, [&](const auto& one) { return renders_on(one, node); }))
        return device;
    if (address_is_unique(node, nodes, devices))
        if (auto* device =
                only_device(devices, [&](const auto& one) { return sits_at(one, node); }))
            return device;
    // If the kernel does not expose the PCI domain, function bits of 0 prove nothing, because the
    // GPU may be at the same address in another domain.
    const bool is_certain = node.domain || (node.location & 7) != 0;
    if (auto* device = only_device(devices, [&](const auto& one) {
            return is_certain && shares_slot(one, node) && one.driver == kDriver;
        }))
        return device;
    return only_device(
        devices, [&](const auto& one) { return node.unique_id && one.uuid == node.unique_id; });
}

/// Adds the facts from the first KFD node of a device. All further nodes are partitions of the same
/// GPU.
void add_first_node(const KfdNode& node, HardwareDevice& device) {
    device.extra["kfd_node"] = node.number;
    if (node.gfx_target)
        device.extra["gfx_target"] = *node.gfx_target;
    device.extra["simd_count"] = *node.simd_count;
    if (node.simd_per_cu.value_or(0) > 0)
        device.extra["compute_units"] = *node.simd_count / *node.simd_per_cu;
    if (node.cpu_cores)
        device.extra["kfd_cpu_cores"] = *node.cpu_cores;
}

/// Adds the memory of all nodes of a device. In some memory modes, the partitions share the card's
/// memory, and each node reports all of this memory, so the sum would be too large.
void add_memory(const std::vector<const KfdNode*>& nodes, HardwareDevice& device) {
    Bytes sum;
    for (const auto* node : nodes)
        sum.count += node->memory.value_or(Bytes{}).count;
    if (sum.count == 0)
        return;
    const auto whole = std::ranges::find(device.memory, "amdgpu-sysfs", &MemoryReading::source);
    const bool is_shared =
        nodes.size() > 1 && whole != device.memory.end() && sum.count / 2 >= whole->bytes.count;
    device.memory.push_back({.source = "kfd",
                             .what = "total",
                             .bytes = is_shared ? nodes.front()->memory.value_or(sum) : sum});
}

/// The render node's path.
std::optional<std::string> render_path(const KfdNode& node) {
    return node.render_minor
               ? std::optional{"/dev/dri/renderD" + std::to_string(*node.render_minor)}
               : std::nullopt;
}

/// The node's serial, unless another node of the card has the same serial, because older kernels
/// give all partitions of a card the same serial.
std::optional<std::string> own_serial(const KfdNode& node,
                                      const std::vector<const KfdNode*>& nodes) {
    const auto alike = std::ranges::count(nodes, node.unique_id,
                                          [](const KfdNode* other) { return other->unique_id; });
    return alike == 1 ? node.unique_id : std::nullopt;
}

/// Adds the partitions of a card: all of its nodes, including the card's own node. A card with a
/// single node has no partitions.
void add_partitions(const std::vector<const KfdNode*>& nodes, HardwareDevice& device) {
    for (std::size_t i = 0; nodes.size() > 1 && i < nodes.size(); ++i) {
        HardwarePartition part{.name = "xcp-" + std::to_string(i),
                               .node = render_path(*nodes[i]),
                               .kfd_node = nodes[i]->number,
                               .uuid = own_serial(*nodes[i], nodes),
                               .memory = nodes[i]->memory};
        if (part.node)
            part.nodes.push_back(*part.node);
        device.partitions.push_back(std::move(part));
    }
}

/// Finds the amdgpu_xcp platform device that has this node's render node, and adds the platform
/// device's nodes to the card.
void add_nodes_of(const KfdNode& node,
                  const std::vector<HardwareDevice>& made_for_partitions,
                  HardwareDevice& device) {
    for (const auto& partition : made_for_partitions)
        if (renders_on(partition, node))
            device.nodes.insert(device.nodes.end(), partition.nodes.begin(), partition.nodes.end());
}

}  // namespace

std::optional<std::string> gfx_target_name(std::uint64_t version) {
    constexpr std::uint64_t kMaxVersion = 999999;
    if (version == 0 || version > kMaxVersion)
        return std::nullopt;
    char name[24] = {};
    std::snprintf(name, sizeof name, "gfx%u%x%x", static_cast<unsigned>(version / 10000),
                  static_cast<unsigned>(version / 100 % 100), static_cast<unsigned>(version % 100));
    return name;
}

std::vector<KfdNode> kfd_nodes(const Sysfs& sysfs) {
    std::vector<std::uint32_t> numbers;
    for (const auto& name : sysfs.names(kNodes))
        if (const auto number = parse_number<std::uint32_t>(name))
            numbers.push_back(*number);
    std::ranges::sort(numbers);
    if (numbers.size() > kMaxKfdNodes) {
        sysfs.note(std::string{kNodes} + ": too many nodes");
        numbers.resize(kMaxKfdNodes);
    }
    std::vector<KfdNode> nodes;
    for (const auto number : numbers)
        if (auto node = gpu_node(sysfs, number))
            nodes.push_back(std::move(*node));
    return nodes;
}

void join_kfd(const std::vector<KfdNode>& nodes, std::vector<HardwareDevice>& devices) {
    // Set the partitions' platform devices aside first, so that nodes are joined to the card
    // itself.
    std::vector<HardwareDevice> made_for_partitions;
    std::ranges::copy_if(devices, std::back_inserter(made_for_partitions), is_partition_device);
    std::erase_if(devices, is_partition_device);
    // Then find the device of each node; at the end, add the facts of all nodes of a device.
    std::map<HardwareDevice*, std::vector<const KfdNode*>> of_device;
    for (const auto& node : nodes)
        if (auto* device = device_of(node, nodes, devices)) {
            of_device[device].push_back(&node);
            if (!device->uuid)
                device->uuid = node.unique_id;  // the same number as in amdgpu's file unique_id
        }
    for (const auto& [device, own] : of_device) {
        add_first_node(*own.front(), *device);
        add_memory(own, *device);
        add_partitions(own, *device);
        for (const auto* node : own)
            add_nodes_of(*node, made_for_partitions, *device);
    }
}

}  // namespace gpuprobe::inline inventory
