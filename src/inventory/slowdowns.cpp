// SPDX-License-Identifier: Apache-2.0
#include "inventory/slowdowns.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxParts = 16;  // in one folder; the largest GPUs have four
constexpr std::size_t kMaxReasons = 64;
constexpr Bytes kMaxMetrics = kib(4);

constexpr std::string_view kPower = "power-cap";
constexpr std::string_view kHeat = "thermal";
constexpr std::string_view kRegulatorHeat = "hw-thermal";
constexpr std::string_view kSignal = "slowdown";
constexpr std::string_view kOther = "other";
/// All words, in the order of the result.
constexpr std::array kWords{kPower, kSignal, kHeat, kRegulatorHeat, kOther};

using Found = std::set<std::string_view>;

std::vector<std::string> in_order(const Found& found) {
    std::vector<std::string> told;
    for (const auto word : kWords)
        if (found.contains(word))
            told.emplace_back(word);
    return told;
}

// amdgpu -----------------------------------------------------------------------------------------

/// A version of gpu_metrics whose throttle status has the same meaning on all chips, and the byte
/// offset of that status. In other versions the meaning depends on the chip, or the status is
/// accumulated over time. Source: torvalds/linux@00dedab07b52,
/// drivers/gpu/drm/amd/include/kgd_pp_interface.h, gpu_metrics_v1_3 and gpu_metrics_v2_2 to v2_4.
struct MetricsVersion {
    std::uint8_t format = 0;
    std::uint8_t content = 0;
    std::size_t status_at = 0;
};
constexpr std::array<MetricsVersion, 4> kMetricsVersions{
    {{1, 3, 112}, {2, 2, 120}, {2, 3, 120}, {2, 4, 120}}};

/// A range of bits in the status, and the word for them. Limits of currents count as power limits.
/// Source: torvalds/linux, drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h, SMU_THROTTLER_*.
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

/// The throttle status in a gpu_metrics table; nullopt for a version without it, and if the driver
/// left it as all ones.
std::optional<std::uint64_t> throttle_status(std::string_view metrics) {
    constexpr std::size_t kTableHeader = 4;
    // The header: size of the table (2 bytes), format, content.
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
std::optional<Found> told_by_amdgpu(const FileSystem& files, const std::string& device) {
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

/// A file's name after "reason_", and the word for the reason. PL1, PL2 and PL4 are limits of
/// power, TDC and ICCMAX of current, RATL of heat over time. Source: torvalds/linux@191db84b639a,
/// drivers/gpu/drm/xe/xe_gt_throttle.c, which includes all reasons of i915
/// (drivers/gpu/drm/i915/gt/intel_gt_sysfs_pm.c).
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

/// The word for a reason; kOther for an unknown one.
std::string_view word_of(std::string_view reason) {
    const auto* known =
        std::ranges::find(kReasons, reason, [](const auto& row) { return row.first; });
    return known == kReasons.end() ? kOther : known->second;
}

/// The files of one GT: one for each reason, "1" or "0", and one that is "1" if any reason applies.
struct ReasonFiles {
    std::string folder = {};
    std::string_view status = {};
    std::string_view lead = {};  ///< prefix of the reasons' files
};

ReasonFiles reason_files(const std::string& part) {
    if (part.find("/drm/") != std::string::npos)  // i915
        return {.folder = part, .status = "throttle_reason_status", .lead = "throttle_reason_"};
    return {.folder = part + "/freq0/throttle", .status = "status", .lead = "reason_"};
}

/// Adds the reasons of one GT. Returns false if the driver does not report them for it.
bool add_reasons(const FileSystem& files, const ReasonFiles& where, Found& found) {
    const auto is_set = [&](std::string_view name) {
        return files.line((where.folder + "/").append(name)) == "1";
    };
    // Fast path: "0" means that no reason applies.
    if (!is_set(where.status))
        return files.line((where.folder + "/").append(where.status)) == "0";
    auto names = files.list(where.folder).value_or(std::vector<std::string>{});
    names.resize(std::min(names.size(), kMaxReasons));
    for (const std::string_view name : names)
        if (name.starts_with(where.lead) && name != where.status && is_set(name))
            found.insert(word_of(name.substr(where.lead.size())));
    // The status is set, but by a reason without a file.
    if (found.empty())
        found.insert(kOther);
    return true;
}

/// The reasons that i915 or xe reports for any GT; nullopt if it reports them for none.
std::optional<Found> told_by_intel(const FileSystem& files, const std::string& device) {
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
        found = told_by_amdgpu(files, path);
    else if (device.driver == "i915" || device.driver == "xe")
        found = told_by_intel(files, path);
    return found ? std::optional{in_order(*found)} : std::nullopt;
}

}  // namespace gpuprobe::inline inventory
