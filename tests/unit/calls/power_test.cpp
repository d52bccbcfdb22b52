// SPDX-License-Identifier: Apache-2.0
#include "calls/power.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace gpuprobe {
namespace {

constexpr const char* kStatus = "sys/bus/pci/devices/0000:03:00.0/power/runtime_status";

Gpu gpu_at_bus_3() {
    Gpu gpu;
    gpu.pci = PciInfo{.address = PciAddress{.bus = 3}};
    gpu.power.runtime_status = "active";
    return gpu;
}

TEST(PowerState, IsReadAnewEachTime) {
    const testing::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    folder.write(kStatus, "suspended\n");
    EXPECT_EQ(power_state(files, gpu_at_bus_3()), "suspended");
    EXPECT_TRUE(is_asleep(files, gpu_at_bus_3()));
    folder.write(kStatus, "active\n");
    EXPECT_FALSE(is_asleep(files, gpu_at_bus_3()));
}

TEST(PowerState, IsTheReportsWhereTheKernelSaysNothing) {
    const testing::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    EXPECT_EQ(power_state(files, gpu_at_bus_3()), "active");
    EXPECT_EQ(power_state(files, Gpu{}), std::nullopt);
    EXPECT_FALSE(is_asleep(files, Gpu{}));
}

}  // namespace
}  // namespace gpuprobe
