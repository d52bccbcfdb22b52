// SPDX-License-Identifier: Apache-2.0
#include "engine/gpu_load.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "inventory/driver_files.h"
#include "report/fact_key.h"

namespace gpuprobe::engine {
namespace {

const std::string kSupplies = "/sys/class/power_supply";

/// Whether the supply is a battery of the machine itself (not of a mouse) and discharges.
bool is_discharging(const FileSystem& files, const std::string& supply) {
    return files.line(supply + "/type").value_or("") == "Battery" &&
           files.line(supply + "/scope").value_or("") != "Device" &&
           files.line(supply + "/status").value_or("") == "Discharging";
}

/// Whether the supply is a charger that is plugged in. The battery may discharge nevertheless if
/// the charger is too weak.
bool gives_power(const FileSystem& files, const std::string& supply) {
    const auto type = files.line(supply + "/type").value_or("");
    return (type == "Mains" || type == "USB") && files.line(supply + "/online").value_or("") == "1";
}

/// Whether any battery discharges and no charger is plugged in.
bool is_on_battery(const FileSystem& files) {
    const auto names = files.list(kSupplies);
    if (!names)
        return false;
    const auto any = [&](bool (*holds)(const FileSystem&, const std::string&)) {
        return std::ranges::any_of(
            *names, [&](const auto& name) { return holds(files, kSupplies + "/" + name); });
    };
    return any(is_discharging) && !any(gives_power);
}

struct Load {
    std::uint64_t percent = 0;
    const char* source = "";
};

/// The load from the best source: amdgpu's file, NVML's last report, then the idle counters. They
/// exist for AMD, NVIDIA and Intel GPUs respectively.
std::optional<Load> load_of(const FileSystem& files,
                            const Machine& machine,
                            const Gpu& gpu,
                            const IdleMeter& meter,
                            MonotonicTime now) {
    const auto device = std::ranges::find(machine.devices, gpu.id, &HardwareDevice::id);
    if (device != machine.devices.end()) {
        const auto line = files.line(device->sysfs_path + "/gpu_busy_percent");
        const auto percent = line ? parse_number<std::uint64_t>(*line) : std::nullopt;
        if (percent)
            return Load{.percent = *percent, .source = "amdgpu-sysfs"};
    }
    const auto nvml = gpu.apis.find("nvml");
    const auto told =
        nvml == gpu.apis.end() ? std::nullopt : fact(nvml->second.device, facts::kGpuUtilization);
    if (told)
        return Load{.percent = *told, .source = "nvml"};
    const auto awake = meter.percent(files, gpu.id, now);
    return awake ? std::optional{Load{.percent = *awake, .source = "idle-residency"}}
                 : std::nullopt;
}

/// Paths of the idle counters of a GPU, which differ between i915 (under /drm/) and xe. A part that
/// can't sleep because RC6 is disabled has no meaningful counter.
std::vector<std::string> counters_of(const FileSystem& files, const std::string& device) {
    std::vector<std::string> counters;
    for (const auto& part : intel_parts(files, device))
        if (part.find("/drm/") == std::string::npos)
            counters.push_back(part + "/gtidle/idle_residency_ms");
        else if (files.line(part + "/rc6_enable").value_or("1") != "0")
            counters.push_back(part + "/rc6_residency_ms");
    return counters;
}

std::optional<std::uint64_t> counted(const FileSystem& files, const std::string& counter) {
    const auto line = files.line(counter);
    return line ? parse_number<std::uint64_t>(*line) : std::nullopt;
}

}  // namespace

std::optional<Reason> obstacle_on_host(const FileSystem& files) {
    return is_on_battery(files) ? std::optional{because("on-battery")} : std::nullopt;
}

std::optional<Reason> obstacle_on_gpu(const FileSystem& files,
                                      const Machine& machine,
                                      const Gpu& gpu,
                                      const IdleMeter& meter,
                                      MonotonicTime now) {
    const auto load = load_of(files, machine, gpu, meter, now);
    if (load && load->percent > kBusyPercent)
        return because("busy", {{"percent", to_value(load->percent)}, {"source", load->source}});
    if (gpu.memory.free && *gpu.memory.free < kLeastFree)
        return because("not-enough-memory",
                       {{"free", to_value(*gpu.memory.free)}, {"need", to_value(kLeastFree)}});
    return std::nullopt;
}

void IdleMeter::look(const FileSystem& files, const Machine& machine, MonotonicTime now) {
    seen_.clear();
    looked_ = now;
    for (const auto& device : machine.devices) {
        // Only Intel's drivers have these counters.
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
    // The part that slept least determines the load.
    std::optional<std::uint64_t> most;
    for (const auto& [counter, before] : seen->second) {
        const auto after = counted(files, counter);
        if (!after || *after < before)  // the counter was reset
            continue;
        // The counter may run slightly ahead of our clock, so limit it to the time that has passed.
        const auto slept = std::min(*after - before, passed);
        most = std::max(most.value_or(0), 100 * (passed - slept) / passed);
    }
    return most;
}

}  // namespace gpuprobe::engine
