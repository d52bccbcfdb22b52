// SPDX-License-Identifier: Apache-2.0
#include "inventory/amdgpu_sysfs.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxMonitors = 16;

/// A file with a memory size, and the `what` of its reading.
struct MemoryFile {
    const char* file;
    const char* what;
    bool zero_is_unknown;  ///< a total of 0 means unknown; 0 used is a fact
};
constexpr std::array<MemoryFile, 6> kMemoryFiles{{
    {"mem_info_vram_total", "total", true},
    {"mem_info_vram_used", "used", false},
    {"mem_info_vis_vram_total", "visible-total", true},
    {"mem_info_vis_vram_used", "visible-used", false},
    {"mem_info_gtt_total", "gtt-total", true},
    {"mem_info_gtt_used", "gtt-used", false},
}};

/// Adds a file's text in lower case, unless the driver reports "unknown".
void add_text(const Sysfs& sysfs, const char* file, std::string_view key, HardwareDevice& device) {
    const auto text = sysfs.text(device.sysfs_path + "/" + file);
    if (text && *text != "unknown")
        device.extra[key] = lower_case(*text);
}

/// Only lists the names: reading a sensor would wake the GPU.
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

/// The name of a device and revision in amdgpu.ids: "744C,<tab>C8,<tab>AMD Radeon RX 7900 XTX".
/// pci.ids has one name for all revisions. nullopt for the generic "AMD Radeon Graphics", which is
/// less specific than the name in pci.ids.
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
    // product_name is from the board's FRU memory and replaces the name from the table.
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

}  // namespace gpuprobe::inline inventory
