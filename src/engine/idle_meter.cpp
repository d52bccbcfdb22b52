// SPDX-License-Identifier: Apache-2.0
#include "engine/idle_meter.h"

#include <algorithm>
#include <vector>

#include "base/parse.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxParts = 16;  ///< of a folder; the largest GPUs have four

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

/// i915 has them below the card, xe below the device. A part that may not sleep tells nothing.
std::vector<std::string> counters_of(const FileSystem& files, const std::string& device) {
    std::vector<std::string> counters;
    for (const auto& card : folders_in(files, device + "/drm", "card"))
        for (const auto& part : folders_in(files, card + "/gt", "gt"))
            if (files.line(part + "/rc6_enable").value_or("1") != "0")
                counters.push_back(part + "/rc6_residency_ms");
    for (const auto& tile : folders_in(files, device, "tile"))
        for (const auto& part : folders_in(files, tile, "gt"))
            counters.push_back(part + "/gtidle/idle_residency_ms");
    return counters;
}

std::optional<std::uint64_t> counted(const FileSystem& files, const std::string& counter) {
    const auto line = files.line(counter);
    return line ? parse_number<std::uint64_t>(*line) : std::nullopt;
}

}  // namespace

void IdleMeter::look(const FileSystem& files, const Machine& machine, MonotonicTime now) {
    seen_.clear();
    looked_ = now;
    for (const auto& device : machine.devices) {
        const bool sleeps =
            device.runtime_status == "suspended" || device.runtime_status == "suspending";
        if (device.vendor_id != "8086" || sleeps)
            continue;
        for (const auto& counter : counters_of(files, device.sysfs_path))
            if (const auto slept = counted(files, counter))
                seen_[device.id][counter] = *slept;
    }
}

std::optional<std::uint64_t> IdleMeter::percent(const FileSystem& files,
                                                const std::string& device,
                                                MonotonicTime now) const {
    const auto seen = seen_.find(device);
    if (seen == seen_.end() || now - looked_ < kShortest)
        return std::nullopt;
    const auto passed = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(now - looked_).count());
    std::optional<std::uint64_t> most;
    for (const auto& [counter, before] : seen->second) {
        const auto after = counted(files, counter);
        if (!after || *after < before)  // it began anew
            continue;
        const auto slept = std::min(*after - before, passed);
        most = std::max(most.value_or(0), 100 * (passed - slept) / passed);
    }
    return most;
}

}  // namespace gpuprobe
