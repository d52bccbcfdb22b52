// SPDX-License-Identifier: Apache-2.0
#include "inventory/driver_files.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "inventory/sysfs.h"
#include "knowledge/drivers.h"
#include "report/fact_key.h"
#include "report/hardware.h"

namespace gpuprobe::inline inventory {
namespace {

using knowledge::DriverFiles;

constexpr std::size_t kMaxMembers = 256;
constexpr std::int64_t kMaxMicrowatts = 100'000'000'000;
constexpr std::uint64_t kMaxUnit = 1'000'000;
constexpr std::int64_t kMinMillicelsius = -100'000;
constexpr std::int64_t kMaxMillicelsius = 300'000;
constexpr std::string_view kMember = "member";

/// The files that a driver exposes for one device. A device has a folder in the driver's class and
/// a device folder; files in the class folder take precedence.
class Files {
public:
    Files(const Sysfs& sysfs, std::string folder, const HardwareDevice& device)
        : sysfs_{sysfs}, folder_{std::move(folder)}, device_{device} {}

    /// The first line of the file; nullopt if drivers.json names no file for this fact, or if the
    /// file can't be read.
    [[nodiscard]] std::optional<std::string> text(const std::optional<std::string>& name) const {
        if (!name)
            return std::nullopt;
        if (!folder_.empty())
            if (auto found = sysfs_.text(folder_ + "/" + *name))
                return found;
        return sysfs_.text(device_.sysfs_path + "/" + *name);
    }

    /// The possible paths of a file, in the order in which text() tries them.
    [[nodiscard]] std::vector<std::string> paths(const std::optional<std::string>& name) const {
        if (!name)
            return {};
        std::vector<std::string> places{device_.sysfs_path + "/" + *name};
        if (!folder_.empty())
            places.insert(places.begin(), folder_ + "/" + *name);
        return places;
    }

    /// The value of a placeholder in a node's path: the name of the class member for "member",
    /// otherwise the content of the file with the placeholder's name. A "!" in a member's name
    /// corresponds to a "/" below /dev, so "tenstorrent!0" is /dev/tenstorrent/0.
    [[nodiscard]] std::optional<std::string> word(std::string_view name) const {
        if (name != kMember)
            return text(std::string{name});
        if (folder_.empty())
            return std::nullopt;
        std::string member{base_name(folder_)};
        std::ranges::replace(member, '!', '/');
        return member;
    }

private:
    const Sysfs& sysfs_;
    std::string folder_;  ///< "" if the class does not have this device
    const HardwareDevice& device_;
};

/// The path for a pattern such as "/dev/davinci{dev_id}"; nullopt if the value of the placeholder
/// is unknown or contains "..".
std::optional<std::string> node_path(std::string_view pattern, const Files& files) {
    const auto open = pattern.find('{');
    const auto close = pattern.find('}', open);
    if (close == std::string_view::npos)
        return std::nullopt;
    const auto word = files.word(pattern.substr(open + 1, close - open - 1));
    if (!word || word->find("..") != std::string::npos)
        return std::nullopt;
    return std::string{pattern.substr(0, open)} + *word + std::string{pattern.substr(close + 1)};
}

/// True if the class and the driver have only one device each, and the device in the class has no
/// link to its parent. If the class and the driver have only one device each, these devices belong
/// together.
bool is_pair(const Sysfs& sysfs, const DriverFiles& row, const HardwareDevice& device) {
    const auto members = sysfs.names("/sys/class/" + *row.device_class);
    if (members.size() != 1 ||
        sysfs.exists("/sys/class/" + *row.device_class + "/" + members.front() + "/device"))
        return false;
    const auto bound = sysfs.names("/sys/bus/pci/drivers/" + *device.driver);
    return std::ranges::count_if(bound, [](const std::string& name) {
               return parse_text(name, std::type_identity<PciAddress>{}).has_value();
           }) <= 1;
}

/// True if the folder in the driver's class belongs to the device, according to its address file,
/// its `device` link, or is_pair().
bool is_of(const Sysfs& sysfs,
           const DriverFiles& row,
           const std::string& folder,
           const HardwareDevice& device) {
    if (!row.address)
        return sysfs.resolved(folder + "/device") == device.sysfs_path ||
               is_pair(sysfs, row, device);
    const auto address = sysfs.text(folder + "/" + *row.address);
    return address && device.pci &&
           parse_text(*address, std::type_identity<PciAddress>{}) == device.pci;
}

/// The folders in the driver's class that belong to the device.
std::vector<std::string> class_folders(const Sysfs& sysfs,
                                       const DriverFiles& row,
                                       const HardwareDevice& device) {
    std::vector<std::string> folders;
    if (!row.device_class)
        return folders;
    const auto parent = "/sys/class/" + *row.device_class;
    for (const auto& name : sysfs.names(parent)) {
        const auto folder = parent + "/" + name;
        if (folders.size() < kMaxMembers && is_of(sysfs, row, folder, device))
            folders.push_back(folder);
    }
    return folders;
}

void add_nodes(const Sysfs& sysfs,
               const DriverFiles& row,
               const std::vector<std::string>& folders,
               const DeviceNodes& nodes,
               HardwareDevice& device) {
    for (const auto pattern : words(*row.nodes)) {
        // A path without a placeholder is a node for all devices of the driver. Some versions of
        // the driver don't create a node for all devices.
        if (pattern.find('{') == std::string_view::npos) {
            if (auto node = nodes.find(pattern))
                device.nodes.push_back(std::move(*node));
            continue;
        }
        for (const auto& folder : folders)
            if (const auto path = node_path(pattern, Files{sysfs, folder, device}))
                device.nodes.push_back(nodes.at(*path));
    }
}

void add_facts(const DriverFiles& row, const Files& files, HardwareDevice& device) {
    if (auto name = files.text(row.name); name && !device.model)
        device.model = std::move(name);
    if (auto firmware = files.text(row.firmware))
        device.extra[std::string{kernel_facts::kFirmware.name}] = std::move(*firmware);
    // drivers.json contains the unit of the memory size. If the product of number and unit
    // overflows, ignore the memory size.
    const auto memory = parse_number<std::uint64_t>(files.text(row.memory).value_or(""));
    const auto unit = row.memory_unit.value_or(1);
    if (memory && *memory < UINT64_MAX / unit)
        device.memory.push_back(
            {.source = "driver-sysfs", .what = "total", .bytes = Bytes{*memory * unit}});
    const auto state = files.text(row.state);
    if (state && row.ready && state != row.ready)
        device.findings.push_back(because("device-not-ready", {{"state", *state}}));
}

/// The sum of the numbers in the file `file` of all folders whose names consist of `word` and a
/// number.
std::optional<Bytes> sum_of(const Sysfs& sysfs,
                            const std::string& parent,
                            std::string_view word,
                            const std::string& file) {
    Bytes sum;
    auto names = sysfs.names(parent);
    names.resize(std::min(names.size(), kMaxMembers));
    for (const std::string_view name : names) {
        if (!name.starts_with(word) || !parse_number<std::uint32_t>(name.substr(word.size())))
            continue;
        const auto size = sysfs.number(parent + "/" + std::string{name} + "/" + file);
        if (size && *size <= kMaxPlausibleMemory.count)
            sum.count += *size;
    }
    return sum.count > 0 ? std::optional{sum} : std::nullopt;
}

/// Adds the memory of Intel's cards: the driver xe exposes the size of each tile, and the driver
/// i915 from Intel's backports exposes the size of the whole card. Reading the files with memory
/// sizes does not access the device. Sources: igt-gpu-tools, tests/intel/xe_sysfs_tile.c; Intel's
/// i915 backports, drivers/gpu/drm/i915/i915_sysfs.c.
void add_intel_memory(const Sysfs& sysfs, HardwareDevice& device) {
    const auto& path = device.sysfs_path;
    std::optional<Bytes> size;
    if (device.driver == "xe")
        size = sum_of(sysfs, path, "tile", "physical_vram_size_bytes");
    if (device.driver == "i915")
        size = sum_of(sysfs, path + "/drm", "card", "lmem_total_bytes");
    if (size)
        device.memory.push_back(
            {.source = *device.driver + "-sysfs", .what = "total", .bytes = *size});
}

/// Reads a device's sensors until a sensor can't be read.
class Sensors {
public:
    explicit Sensors(const Sysfs& sysfs) : sysfs_{sysfs} {}

    /// The number in the first of the files that exists; nullopt if the number is outside the
    /// limits.
    std::optional<std::int64_t> number(const std::vector<std::string>& paths,
                                       std::int64_t least,
                                       std::int64_t most) {
        const auto path = std::ranges::find_if(
            paths, [this](const std::string& one) { return !is_silent_ && sysfs_.exists(one); });
        if (path == paths.end())
            return std::nullopt;
        const auto text = sysfs_.text(*path);
        is_silent_ = !text;
        const auto number = parse_number<std::int64_t>(text.value_or(""));
        return number && *number >= least && *number <= most ? number : std::nullopt;
    }

private:
    const Sysfs& sysfs_;
    bool is_silent_ = false;
};

/// The possible paths of the files `names` in the device's hwmon folders.
std::vector<std::string> hwmon_files(const Sysfs& sysfs,
                                     const HardwareDevice& device,
                                     std::initializer_list<std::string_view> names) {
    std::vector<std::string> paths;
    const auto parent = device.sysfs_path + "/hwmon";
    auto folders = sysfs.names(parent);
    folders.resize(std::min(folders.size(), kMaxMembers));
    for (const auto& folder : folders)
        for (const auto name : names)
            paths.push_back(parent + "/" + folder + "/" + std::string{name});
    return paths;
}

/// The temperature files of the thermal zones with the type `type`.
std::vector<std::string> thermal_files(const Sysfs& sysfs, const std::optional<std::string>& type) {
    if (!type)
        return {};
    const std::string parent = "/sys/class/thermal";
    auto zones = sysfs.names(parent);
    zones.resize(std::min(zones.size(), kMaxMembers));
    std::erase_if(zones, [&](const std::string& zone) {
        return sysfs.text(parent + "/" + zone + "/type") != type;
    });
    for (auto& zone : zones)
        zone = parent + "/" + zone + "/temp";
    return zones;
}

/// Sets a fact. An unknown value replaces an older value, but isn't added as a new key.
void keep(std::string_view key, std::optional<std::int64_t> number, HardwareDevice& device) {
    if (number || device.extra.find(key))
        device.extra[std::string{key}] = to_value(number);
}

std::vector<std::string> joined(std::vector<std::string> first, std::vector<std::string> second) {
    first.insert(first.end(), second.begin(), second.end());
    return first;
}

void read_all(const Sysfs& sysfs,
              const DriverFiles& row,
              const Files& files,
              HardwareDevice& device) {
    Sensors sensors{sysfs};
    const auto unit = static_cast<std::int64_t>(std::min(row.power_unit.value_or(1), kMaxUnit));
    keep(kernel_facts::kPowerDraw.name,
         sensors.number(hwmon_files(sysfs, device, {"power1_input", "power1_average"}), 1,
                        kMaxMicrowatts),
         device);
    // The driver's own file takes precedence over hwmon, whose unit is always the microwatt.
    auto limit = sensors.number(files.paths(row.power_limit), 1, kMaxMicrowatts / unit);
    if (limit)
        *limit *= unit;
    else
        limit = sensors.number(hwmon_files(sysfs, device, {"power1_cap", "power1_max"}), 1,
                               kMaxMicrowatts);
    keep(kernel_facts::kPowerLimit.name, limit, device);
    keep(kernel_facts::kTemperature.name,
         sensors.number(joined(joined(hwmon_files(sysfs, device, {"temp1_input"}),
                                      files.paths(row.temperature)),
                               thermal_files(sysfs, row.thermal_zone)),
                        kMinMillicelsius, kMaxMillicelsius),
         device);
}

}  // namespace

void read_sensors(const FileSystem& files, HardwareDevice& device) {
    if (role_of(device) != Role::Accelerator)
        return;
    std::vector<std::string> notes;
    const Sysfs sysfs{files, notes};
    const auto* found =
        device.driver ? knowledge::Drivers::current().find(*device.driver) : nullptr;
    // hwmon can be read even if drivers.json has no entry for the driver.
    const auto row = found ? *found : DriverFiles{};
    const auto folders = class_folders(sysfs, row, device);
    const Files own{sysfs, folders.empty() ? "" : folders.front(), device};
    const bool is_asleep =
        device.runtime_status == "suspended" || device.runtime_status == "suspending";
    const auto state = own.text(row.state);
    if (is_asleep || (state && row.ready && state != row.ready)) {
        // The old readings are outdated, but the power limit is still valid.
        keep(kernel_facts::kPowerDraw.name, std::nullopt, device);
        keep(kernel_facts::kTemperature.name, std::nullopt, device);
        return;
    }
    read_all(sysfs, row, own, device);
}

void add_driver_files(const Sysfs& sysfs, const DeviceNodes& nodes, HardwareDevice& device) {
    add_intel_memory(sysfs, device);
    const auto* row = device.driver ? knowledge::Drivers::current().find(*device.driver) : nullptr;
    if (!row)
        return;
    const auto folders = class_folders(sysfs, *row, device);
    if (row->nodes)
        add_nodes(sysfs, *row, row->device_class ? folders : std::vector<std::string>{""}, nodes,
                  device);
    add_facts(*row, Files{sysfs, folders.empty() ? "" : folders.front(), device}, device);
}

namespace {

constexpr std::size_t kMaxParts = 16;  // entries of one folder; the largest GPUs have four
constexpr std::size_t kMaxReasons = 64;
constexpr Bytes kMaxMetrics = kib(4);

constexpr std::string_view kPower = "power-cap";
constexpr std::string_view kHeat = "thermal";
constexpr std::string_view kRegulatorHeat = "hw-thermal";
constexpr std::string_view kSignal = "slowdown";
constexpr std::string_view kOther = "other";
/// All words for reasons, in the order of the result.
constexpr std::array kWords{kPower, kSignal, kHeat, kRegulatorHeat, kOther};

using Found = std::set<std::string_view>;

std::vector<std::string> in_order(const Found& found) {
    std::vector<std::string> ordered;
    for (const auto word : kWords)
        if (found.contains(word))
            ordered.emplace_back(word);
    return ordered;
}

// amdgpu -----------------------------------------------------------------------------------------

/// A version of gpu_metrics in which the throttle status has the same meaning on all chips, and the
/// status's offset in bytes. In other versions of gpu_metrics, the meaning of the status depends on
/// the chip, or the status is accumulated over time. Source: torvalds/linux@00dedab07b52,
/// drivers/gpu/drm/amd/include/kgd_pp_interface.h, gpu_metrics_v1_3 and gpu_metrics_v2_2 to v2_4.
struct MetricsVersion {
    std::uint8_t format = 0;
    std::uint8_t content = 0;
    std::size_t status_at = 0;
};
constexpr std::array<MetricsVersion, 4> kMetricsVersions{
    {{1, 3, 112}, {2, 2, 120}, {2, 3, 120}, {2, 4, 120}}};

/// A range of bits in the status, and the word for these bits. Limits of the electric current count
/// as power limits. Source: torvalds/linux, drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h,
/// SMU_THROTTLER_*.
struct Throttlers {
    unsigned first = 0;
    unsigned last = 0;
    std::string_view word = {};
};
constexpr std::array<Throttlers, 6> kThrottlers{{{0, 7, kPower},
                                                 {16, 23, kPower},
                                                 {32, 43, kHeat},
                                                 {44, 45, kRegulatorHeat},  // VRHOT
                                                 {46, 47, kSignal},         // PROCHOT
                                                 {48, 63, kOther}}};

/// The throttle status in a gpu_metrics table; nullopt if this version of the table has no such
/// status, or if all bits are 1 because the driver did not set the status.
std::optional<std::uint64_t> throttle_status(std::string_view metrics) {
    constexpr std::size_t kTableHeader = 4;
    // The header consists of the size of the table (2 bytes), the format and the content.
    if (metrics.size() < kTableHeader || little_endian(metrics.substr(0, 2)) > metrics.size())
        return std::nullopt;
    for (const auto& version : kMetricsVersions) {
        const auto end = version.status_at + sizeof(std::uint64_t);
        if (little_endian(metrics.substr(2, 1)) != version.format ||
            little_endian(metrics.substr(3, 1)) != version.content || metrics.size() < end)
            continue;
        const auto status = little_endian(metrics.substr(version.status_at, sizeof(std::uint64_t)));
        return status == UINT64_MAX ? std::nullopt : std::optional{status};
    }
    return std::nullopt;
}

/// The reasons that amdgpu reports.
std::optional<Found> reasons_by_amdgpu(const FileSystem& files, const std::string& device) {
    const auto metrics = files.read(device + "/gpu_metrics", kMaxMetrics);
    const auto status = metrics ? throttle_status(*metrics) : std::nullopt;
    if (!status)
        return std::nullopt;
    Found found;
    for (const auto& [first, last, word] : kThrottlers)
        for (auto bit = first; bit <= last; ++bit)
            if ((*status >> bit & 1U) != 0)
                found.insert(word);
    return found;
}

// Intel ------------------------------------------------------------------------------------------

/// A file's name after "reason_", and the name of the reason in facts. PL1, PL2 and PL4 are power
/// limits, TDC and ICCMAX are current limits, and RATL limits the average temperature over time.
/// Source: torvalds/linux@191db84b639a, drivers/gpu/drm/xe/xe_gt_throttle.c, which includes all
/// reasons of i915 (drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c).
constexpr auto kReasons =
    std::to_array<std::pair<std::string_view, std::string_view>>({{"pl1", kPower},
                                                                  {"pl2", kPower},
                                                                  {"pl4", kPower},
                                                                  {"vr_tdc", kPower},
                                                                  {"iccmax", kPower},
                                                                  {"fastvmode", kPower},
                                                                  {"psys_pl1", kPower},
                                                                  {"psys_pl2", kPower},
                                                                  {"thermal", kHeat},
                                                                  {"ratl", kHeat},
                                                                  {"soc_thermal", kHeat},
                                                                  {"soc_avg_thermal", kHeat},
                                                                  {"mem_thermal", kHeat},
                                                                  {"vr_thermal", kRegulatorHeat},
                                                                  {"vr_thermalert", kRegulatorHeat},
                                                                  {"prochot", kSignal},
                                                                  {"psys_crit", kSignal}});

/// The name of a reason; kOther for an unknown reason.
std::string_view word_of(std::string_view reason) {
    const auto* known =
        std::ranges::find(kReasons, reason, [](const auto& row) { return row.first; });
    return known == kReasons.end() ? kOther : known->second;
}

/// The files for one GT: one file for each reason, and one file that combines all reasons. Each of
/// these files contains "1" or "0".
struct ReasonFiles {
    std::string folder = {};
    std::string_view status = {};
    std::string_view lead = {};  ///< prefix of the names of the files for single reasons
};

ReasonFiles reason_files(const std::string& part) {
    if (part.find("/drm/") != std::string::npos)  // i915
        return {.folder = part, .status = "throttle_reason_status", .lead = "throttle_reason_"};
    return {.folder = part + "/freq0/throttle", .status = "status", .lead = "reason_"};
}

/// Adds the reasons of one GT. Returns false if the driver reports no reasons for this GT.
bool add_reasons(const FileSystem& files, const ReasonFiles& where, Found& found) {
    const auto is_set = [&](std::string_view name) {
        return files.line((where.folder + "/").append(name)) == "1";
    };
    // Fast path: "0" in the file that combines all reasons means that no reason applies.
    if (!is_set(where.status))
        return files.line((where.folder + "/").append(where.status)) == "0";
    auto names = files.list(where.folder).value_or(std::vector<std::string>{});
    names.resize(std::min(names.size(), kMaxReasons));
    for (const std::string_view name : names)
        if (name.starts_with(where.lead) && name != where.status && is_set(name))
            found.insert(word_of(name.substr(where.lead.size())));
    // The combined file contains "1", but because of a reason that has no file.
    if (found.empty())
        found.insert(kOther);
    return true;
}

/// The reasons that i915 or xe reports for any GT; nullopt if the driver does not report reasons
/// for any GT.
std::optional<Found> reasons_by_intel(const FileSystem& files, const std::string& device) {
    Found found;
    bool is_known = false;
    for (const auto& part : intel_parts(files, device))
        is_known = add_reasons(files, reason_files(part), found) || is_known;
    return is_known ? std::optional{found} : std::nullopt;
}

/// The paths of the entries in a folder whose names begin with `start`.
std::vector<std::string> folders_in(const FileSystem& files,
                                    const std::string& folder,
                                    std::string_view start) {
    std::vector<std::string> found;
    const auto names = files.list(folder);
    if (!names)
        return found;
    for (const auto& name : *names)
        if (name.starts_with(start) && found.size() < kMaxParts)
            found.push_back((folder + "/").append(name));
    return found;
}

}  // namespace

std::vector<std::string> intel_parts(const FileSystem& files, const std::string& device) {
    std::vector<std::string> parts;
    const auto add = [&](const std::vector<std::string>& folders) {
        parts.insert(parts.end(), folders.begin(), folders.end());
    };
    for (const auto& card : folders_in(files, device + "/drm", "card"))
        add(folders_in(files, card + "/gt", "gt"));
    for (const auto& tile : folders_in(files, device, "tile"))
        add(folders_in(files, tile, "gt"));
    return parts;
}

std::optional<std::vector<std::string>> slowdowns_of(const FileSystem& files,
                                                     const HardwareDevice& device) {
    const auto& path = device.sysfs_path;
    if (files.line(path + "/power/runtime_status") != "active")
        return std::nullopt;
    std::optional<Found> found;
    if (device.driver == "amdgpu")
        found = reasons_by_amdgpu(files, path);
    else if (device.driver == "i915" || device.driver == "xe")
        found = reasons_by_intel(files, path);
    return found ? std::optional{in_order(*found)} : std::nullopt;
}

}  // namespace gpuprobe::inline inventory
