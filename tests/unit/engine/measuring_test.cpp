// SPDX-License-Identifier: Apache-2.0
#include "engine/measuring.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace gpuprobe {
namespace {

class Measuring : public ::testing::Test {
protected:
    void supply(const std::string& name, const std::string& attribute, const std::string& text) {
        root_.write("sys/class/power_supply/" + name + "/" + attribute, text + "\n");
    }
    void battery(const std::string& status) {
        supply("BAT0", "type", "Battery");
        supply("BAT0", "status", status);
    }
    std::optional<std::string> obstacle(const Gpu* gpu) {
        const auto found = obstacle_to_measuring(files_, machine_, gpu);
        return found ? std::optional{found->code} : std::nullopt;
    }

    testing::TemporaryFolder root_ = {};
    RootedFiles files_{root_.path()};
    Machine machine_{.devices = {{.id = "pci:0000:03:00.0", .sysfs_path = "/sys/devices/gpu"}}};
    Gpu gpu_{.id = "pci:0000:03:00.0"};
};

TEST_F(Measuring, GoesAheadWhereNothingIsKnown) {
    EXPECT_EQ(obstacle(nullptr), std::nullopt);
    EXPECT_EQ(obstacle(&gpu_), std::nullopt);
}

TEST_F(Measuring, WaitsForAChargerWhereABatteryIsEmptied) {
    battery("Discharging");
    EXPECT_EQ(obstacle(nullptr), "on-battery");
    EXPECT_EQ(obstacle(&gpu_), "on-battery");
    supply("AC", "type", "Mains");
    supply("AC", "online", "0");
    EXPECT_EQ(obstacle(nullptr), "on-battery");
    supply("AC", "online", "1");
    EXPECT_EQ(obstacle(nullptr), std::nullopt) << "a weak charger";
}

TEST_F(Measuring, DoesNotMindAFullBatteryOrAMouses) {
    battery("Full");
    supply("hidpp_battery_0", "type", "Battery");
    supply("hidpp_battery_0", "scope", "Device");
    supply("hidpp_battery_0", "status", "Discharging");
    EXPECT_EQ(obstacle(nullptr), std::nullopt);
}

TEST_F(Measuring, LeavesABusyGpuAlone) {
    root_.write("sys/devices/gpu/gpu_busy_percent", "10\n");
    EXPECT_EQ(obstacle(&gpu_), std::nullopt);
    root_.write("sys/devices/gpu/gpu_busy_percent", "11\n");
    EXPECT_EQ(obstacle(&gpu_), "busy");
    EXPECT_EQ(obstacle(nullptr), std::nullopt);
}

TEST_F(Measuring, BelievesNvmlOnTheLoad) {
    gpu_.apis["nvml"].device = Value{Value::Object{{"gpu_utilization", 11}}};
    EXPECT_EQ(obstacle(&gpu_), "busy");
    gpu_.apis["nvml"].device = Value{Value::Object{{"gpu_utilization", 10}}};
    EXPECT_EQ(obstacle(&gpu_), std::nullopt);
    gpu_.apis["nvml"].device = Value{Value::Object{{"gpu_utilization", nullptr}}};
    EXPECT_EQ(obstacle(&gpu_), std::nullopt);
}

TEST_F(Measuring, NeedsMemoryThatNoCacheHolds) {
    gpu_.memory.free = kLeastFree;
    EXPECT_EQ(obstacle(&gpu_), std::nullopt);
    gpu_.memory.free = Bytes{kLeastFree.count - 1};
    EXPECT_EQ(obstacle(&gpu_), "not-enough-memory");
}

}  // namespace
}  // namespace gpuprobe
