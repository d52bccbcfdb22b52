// SPDX-License-Identifier: Apache-2.0
#include "backends/nvml/nvml.h"

#include <gtest/gtest.h>

#include "support/temporary_folder.h"

namespace gpuprobe::backends {
namespace nvml_test {

using support::TemporaryFolder;

constexpr const char* kInformation =
    "Model: \t\t NVIDIA H200\nGPU UUID: \t GPU-cc6fa451-659b-5d3c-8f90-6aa751d8323a\n"
    "Device Minor: \t 3\n";

class OnlyNvidiaGpu : public ::testing::Test {
protected:
    void write_information(const std::string& information) const {
        root_.write("proc/driver/nvidia/gpus/0000:00:06.0/information", information);
    }
    [[nodiscard]] std::optional<std::string> wanted(const char* device) const {
        return uuid_of_wanted(RootedFiles{root_.path()}, {.api = "cuda", .device = device});
    }
    TemporaryFolder root_ = {};
};

TEST_F(OnlyNvidiaGpu, IsKnownByTheAddress) {
    write_information(kInformation);
    EXPECT_EQ(wanted("pci:0000:00:06.0"), "GPU-cc6fa451-659b-5d3c-8f90-6aa751d8323a");
    EXPECT_EQ(wanted("pci:0000:00:07.0"), std::nullopt);
    EXPECT_EQ(wanted("index:0"), std::nullopt);
}

TEST_F(OnlyNvidiaGpu, IsNotKnownBeforeItsFirstStart) {
    write_information("GPU UUID: \t GPU-" + std::string(36, '?') + "\nDevice Minor: \t 3\n");
    EXPECT_EQ(wanted("pci:0000:00:06.0"), std::nullopt);
    write_information("Model: x\n");
    EXPECT_EQ(wanted("pci:0000:00:06.0"), std::nullopt);
}

TEST_F(OnlyNvidiaGpu, IsUnchangedInMigMode) {
    write_information(kInformation);
    root_.write("proc/driver/nvidia/capabilities/gpu3/mig/gi1/access", "");
    EXPECT_EQ(wanted("pci:0000:00:06.0"), std::nullopt);
}

TEST_F(OnlyNvidiaGpu, IsAMigInstanceByItsUuid) {
    const std::string uuid = "MIG-cc6fa451-659b-5d3c-8f90-6aa751d8323a";
    EXPECT_EQ(wanted(("uuid:" + uuid).c_str()), uuid);
    for (const auto* other : {"uuid:", "uuid:MIG-", "uuid:MIG-1,0", "uuid:0",
                              "uuid:GPU-cc6fa451-659b-5d3c-8f90-6aa751d8323a",
                              "uuid:MIG-cc6fa451-659b-5d3c-8f90-6aa751d8323a,0"})
        EXPECT_EQ(wanted(other), std::nullopt) << other;
}

}  // namespace nvml_test
}  // namespace gpuprobe::backends
