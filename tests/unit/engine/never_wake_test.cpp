// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <filesystem>

#include <gtest/gtest.h>

#include "engine/capture.h"
#include "engine/live_memory.h"
#include "inventory/scan.h"
#include "report/hardware.h"
#include "store/probe_history.h"
#include "support/places.h"

namespace gpuprobe::engine {
namespace never_wake_test {

namespace fs = std::filesystem;

/// Files of a device that wake the device if they are read, at least on some kernels.
/// Source: Linux, drivers/pci/pci-sysfs.c (config; the link attributes from 6.18 on) and
/// drivers/gpu/drm/amd/pm/amdgpu_pm.c (before it returned EPERM for a sleeping device).
constexpr auto kWaking = std::to_array<std::string_view>(
    {"config", "current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
     "rom", "gpu_busy_percent", "mem_busy_percent", "pp_dpm_sclk", "pp_dpm_mclk", "pp_dpm_pcie",
     "pp_od_clk_voltage", "pp_features", "gpu_metrics", "vbios_version", "thermal_throttling_log"});
/// Suffixes of hwmon's readings. The names of the files show which sensors exist.
constexpr auto kSensors = std::to_array<std::string_view>({"_input", "_average", "_cap"});

bool wakes(const std::string& path) {
    const auto name = fs::path{path}.filename().string();
    const bool is_reading =
        path.find("/hwmon/") != std::string::npos &&
        std::ranges::any_of(kSensors, [&](std::string_view end) { return name.ends_with(end); });
    return is_reading || std::ranges::find(kWaking, name) != kWaking.end();
}

/// Whether the path is a reading of an accelerator that is awake, which may be read.
bool is_of_an_accelerator_awake(const std::string& path, const Machine& machine) {
    return std::ranges::any_of(machine.devices, [&path](const HardwareDevice& device) {
        return path.starts_with(device.sysfs_path + "/hwmon/") &&
               role_of(device) == Role::Accelerator && device.runtime_status != "suspended" &&
               device.runtime_status != "suspending";
    });
}

/// Whether the doctor may read why a GPU is slowed down, because the GPU is awake.
bool is_of_a_gpu_awake(const std::string& path, const Machine& machine) {
    return path.ends_with("/gpu_metrics") &&
           std::ranges::any_of(machine.devices, [&path](const HardwareDevice& device) {
               return path == device.sysfs_path + "/gpu_metrics" &&
                      device.runtime_status == "active";
           });
}

/// Examines nodes without opening them; the class has no function for opening nodes.
class NoNodes final : public NodeSource {
public:
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view) const override { return {}; }
    [[nodiscard]] std::vector<std::string> list(std::string_view) const override { return {}; }
};

TEST(NeverWake, TheTestDetectsReadsThatWake) {
    EXPECT_TRUE(wakes("/sys/devices/pci0000:00/0000:00:06.0/config"));
    EXPECT_TRUE(wakes("/sys/devices/pci0000:00/0000:00:06.0/hwmon/hwmon3/power1_average"));
    EXPECT_FALSE(wakes("/sys/devices/pci0000:00/0000:00:06.0/power/runtime_status"));
    EXPECT_FALSE(wakes("/sys/devices/pci0000:00/0000:00:06.0/hwmon/hwmon3/in1_label"));
}

TEST(NeverWake, NoMachineIsReadThroughAFileThatWakes) {
    std::size_t machines = 0;
    std::size_t reads = 0;
    for (const auto& entry : fs::directory_iterator{GPUPROBE_SOURCE_DIR "/tests/data/machines"}) {
        const auto root = entry.path() / "root";
        if (!fs::is_directory(root))
            continue;
        ++machines;
        const RecordingFiles files{std::make_shared<RootedFiles>(root.string())};
        auto machine = scan_machine(files, NoNodes{}, Host{.arch = "x86_64"});
        refresh_readings(files, machine);
        refresh_power(files, machine);
        (void)refresh_slowdowns(files, WallTime{}, machine);
        (void)store::fingerprint_of(machine, files, {});
        for (const auto& [path, content] : files.contents()) {
            EXPECT_FALSE(wakes(path) && !is_of_an_accelerator_awake(path, machine) &&
                         !is_of_a_gpu_awake(path, machine))
                << entry.path().filename() << ": " << path;
            EXPECT_FALSE(path.starts_with("/dev/")) << entry.path().filename() << ": " << path;
            ++reads;
        }
    }
    EXPECT_GT(machines, 30U);
    EXPECT_GT(reads, 500U);
}

}  // namespace never_wake_test
}  // namespace gpuprobe::engine
