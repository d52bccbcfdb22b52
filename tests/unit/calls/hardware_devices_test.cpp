// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "calls/documents.h"

namespace gpuprobe {
namespace hardware_devices_test {

PciInfo pci(const char* vendor, const char* device) {
    return {.address = PciAddress{.bus = 3}, .vendor_id = vendor, .device_id = device};
}

TEST(HardwareDevices, HaveTheNamesOfOnnxRuntime) {
    Report report;
    report.gpus = {Gpu{.id = "pci:0000:03:00.0", .kind = GpuKind::Discrete, .vendor = "nvidia"},
                   Gpu{.id = "platform:gpu", .kind = GpuKind::Unknown}};
    report.gpus[0].pci = pci("10de", "2335");
    report.gpus[0].nodes = {{.path = "/dev/nvidia0"}, {.path = "/dev/dri/card2"}};
    report.accelerators = {Accelerator{.id = "pci:0000:04:00.0", .kind = "npu", .vendor = "intel"},
                           Accelerator{.id = "pci:0000:05:00.0", .kind = "tpu"}};
    report.accelerators[0].pci = pci("8086", "643e");

    const auto devices = hardware_devices_of(report);
    ASSERT_EQ(devices.size(), 4U);
    EXPECT_EQ(devices[0].type, "CPU");
    EXPECT_EQ(devices[1].type, "GPU");
    EXPECT_EQ(devices[1].vendor_id, 0x10deU);
    EXPECT_EQ(devices[1].device_id, 0x2335U);
    EXPECT_EQ(devices[1].metadata,
              (std::map<std::string, std::string>{
                  {"Discrete", "1"}, {"card_idx", "2"}, {"pci_bus_id", "0000:03:00.0"}}));
    EXPECT_EQ(devices[2].vendor_id, std::nullopt);
    EXPECT_TRUE(devices[2].metadata.empty());
    EXPECT_EQ(devices[3].type, "NPU");
    EXPECT_EQ(devices[3].id, "pci:0000:04:00.0");
    EXPECT_EQ(devices[3].device_id, 0x643eU);
}

TEST(HardwareDevices, TakeNothingForANumberThatIsNone) {
    Report report;
    report.gpus = {Gpu{.id = "pci:0000:03:00.0"}};
    for (const auto* id : {"", "xyz", "10de0000f", "-1"}) {
        report.gpus[0].pci = pci(id, id);
        EXPECT_EQ(hardware_devices_of(report)[1].vendor_id, std::nullopt) << id;
    }
}

}  // namespace hardware_devices_test
}  // namespace gpuprobe
