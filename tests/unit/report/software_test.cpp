// SPDX-License-Identifier: Apache-2.0

#include <gtest/gtest.h>

#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace software_test {

struct NameCase {
    const char* name;
    const char* api;
    const char* driver;
    const char* platform;
    std::optional<std::string> device_name;
    std::optional<std::string> want;
};
class SoftwareName : public testing::TestWithParam<NameCase> {};

TEST_P(SoftwareName, SaysWhichImplementationItIs) {
    const auto& row = GetParam();
    DeviceFacts facts{.index = 0, .name = row.device_name, .type = DeviceType::Cpu};
    facts.extra["platform_name"] = row.platform;
    const auto report = assemble(
        Machine{}, {probe(row.api, row.driver, Outcome::Answered, {facts})}, {.now = kNow});
    ASSERT_EQ(report.software.size(), 1U);
    EXPECT_EQ(report.software.front().name, row.want);
    EXPECT_EQ(report.software.front().device.at("name"), to_value(row.device_name));
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    SoftwareName,
    testing::Values(
        NameCase{"Pocl", "opencl", "any.icd", "Portable Computing Language", "pthread-A CPU",
                 "pocl (pthread-A CPU)"},
        NameCase{"PoclByManifest", "opencl", kPoclIcd, "", "cpu-haswell", "pocl (cpu-haswell)"},
        NameCase{"PoclWithoutName", "opencl", kPoclIcd, "", {}, "pocl"},
        NameCase{"PoclOnAnIntelProcessor", "opencl", kPoclIcd, "Portable Computing Language",
                 "cpu-Intel(R) Xeon(R)", "pocl (cpu-Intel(R) Xeon(R))"},
        NameCase{"Intel", "opencl", "/etc/OpenCL/vendors/intel64.icd", "Intel(R) OpenCL",
                 "Intel(R) Core(TM) i7", "Intel OpenCL (Intel(R) Core(TM) i7)"},
        NameCase{"Amd", "opencl", "amdocl64.icd", "AMD Accelerated Parallel Processing",
                 "AMD Ryzen 7", "AMD OpenCL (AMD Ryzen 7)"},
        NameCase{"SaysItAlready", "opencl", kPoclIcd, "", "pocl on a CPU", "pocl on a CPU"},
        NameCase{"AnotherRuntime", "opencl", "x.icd", "Oclgrind", "Oclgrind Simulator",
                 "Oclgrind Simulator"},
        NameCase{"Vulkan", "vulkan", kLavapipeIcd, "", "llvmpipe (LLVM 15.0.6, 256 bits)",
                 "llvmpipe (LLVM 15.0.6, 256 bits)"}),
    [](const auto& row) { return std::string{row.param.name}; });

}  // namespace software_test
}  // namespace gpuprobe::test
