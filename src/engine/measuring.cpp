// SPDX-License-Identifier: Apache-2.0
#include "engine/measuring.h"

#include <algorithm>

#include "base/parse.h"
#include "report/fact_table.h"

namespace gpuprobe {
namespace {

const std::string kSupplies = "/sys/class/power_supply";

/// A battery of this machine's, not of a mouse's, that is being emptied.
bool is_emptied(const FileSystem& files, const std::string& supply) {
    return files.line(supply + "/type").value_or("") == "Battery" &&
           files.line(supply + "/scope").value_or("") != "Device" &&
           files.line(supply + "/status").value_or("") == "Discharging";
}

/// A charger that is plugged in. A battery may be emptied beside one that is too small.
bool gives_power(const FileSystem& files, const std::string& supply) {
    const auto type = files.line(supply + "/type").value_or("");
    return (type == "Mains" || type == "USB") && files.line(supply + "/online").value_or("") == "1";
}

bool is_on_battery(const FileSystem& files) {
    const auto names = files.list(kSupplies);
    if (!names)
        return false;
    const auto any = [&](bool (*holds)(const FileSystem&, const std::string&)) {
        return std::ranges::any_of(
            *names, [&](const auto& name) { return holds(files, kSupplies + "/" + name); });
    };
    return any(is_emptied) && !any(gives_power);
}

struct Load {
    std::uint64_t percent = 0;
    const char* source = "";
};

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

}  // namespace gpuprobe
