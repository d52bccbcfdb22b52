// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "engine/trials.h"
#include "support/temporary_folder.h"

namespace gpuprobe::engine {
namespace gpu_load_test {

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
        auto found = obstacle_on_host(files_);
        if (!found && gpu)
            found = obstacle_on_gpu(files_, machine_, *gpu, meter_, now_);
        return found ? std::optional{found->code} : std::nullopt;
    }

    support::TemporaryFolder root_ = {};
    RootedFiles files_{root_.path()};
    void counter(const std::string& name, int milliseconds) {
        root_.write("sys/devices/gpu/" + name, std::to_string(milliseconds) + "\n");
    }
    void look() { meter_.look(files_, machine_, now_); }

    Machine machine_{
        .devices = {
            {.id = "pci:0000:03:00.0", .sysfs_path = "/sys/devices/gpu", .vendor_id = "8086"}}};
    IdleMeter meter_ = {};
    MonotonicTime now_{std::chrono::hours{1}};
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

TEST_F(Measuring, DoesNotMeasureABusyGpu) {
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

TEST_F(Measuring, SeesHowLongAnIntelGpuSlept) {
    for (const auto* name :
         {"drm/card1/gt/gt0/rc6_residency_ms", "tile0/gt0/gtidle/idle_residency_ms"}) {
        counter(name, 5000);
        look();
        EXPECT_TRUE(meter_.watches(gpu_.id)) << name;
        now_ += std::chrono::seconds{1};
        counter(name, 5900);
        EXPECT_EQ(obstacle(&gpu_), std::nullopt) << name;
        counter(name, 5889);
        EXPECT_EQ(obstacle(&gpu_), "busy") << name;
        std::filesystem::remove(root_.path() + "/sys/devices/gpu/" + name);
    }
}

TEST_F(Measuring, GoesByTheBusiestPartOfAnIntelGpu) {
    counter("drm/card1/gt/gt0/rc6_residency_ms", 100);
    counter("drm/card1/gt/gt1/rc6_residency_ms", 100);
    look();
    now_ += std::chrono::milliseconds{200};
    counter("drm/card1/gt/gt0/rc6_residency_ms", 300);
    counter("drm/card1/gt/gt1/rc6_residency_ms", 200);
    EXPECT_EQ(meter_.percent(files_, gpu_.id, now_), 50U);
}

TEST_F(Measuring, DoesNotGuessHowBusyAnIntelGpuIs) {
    const std::string name = "drm/card1/gt/gt0/rc6_residency_ms";
    counter(name, 100);
    look();
    EXPECT_EQ(meter_.percent(files_, gpu_.id, now_ + std::chrono::milliseconds{99}), std::nullopt)
        << "too early to say";
    counter(name, 50);
    EXPECT_EQ(meter_.percent(files_, gpu_.id, now_ + std::chrono::seconds{1}), std::nullopt)
        << "it began anew";
    root_.write("sys/devices/gpu/drm/card1/gt/gt0/rc6_enable", "0\n");
    look();
    EXPECT_FALSE(meter_.watches(gpu_.id)) << "it may not sleep";
    std::filesystem::remove_all(root_.path() + "/sys/devices/gpu/drm");
    look();
    EXPECT_FALSE(meter_.watches(gpu_.id)) << "it has no such counter";
}

TEST_F(Measuring, DoesNotWakeAnIntelGpuToSeeWhetherItSleeps) {
    counter("drm/card1/gt/gt0/rc6_residency_ms", 100);
    machine_.devices[0].runtime_status = "suspended";
    look();
    EXPECT_FALSE(meter_.watches(gpu_.id));
}

TEST_F(Measuring, NeedsMemoryThatNoCacheHolds) {
    gpu_.memory.free = kLeastFree;
    EXPECT_EQ(obstacle(&gpu_), std::nullopt);
    gpu_.memory.free = Bytes{kLeastFree.count - 1};
    EXPECT_EQ(obstacle(&gpu_), "not-enough-memory");
}

}  // namespace gpu_load_test
}  // namespace gpuprobe::engine
