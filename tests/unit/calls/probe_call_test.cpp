// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "calls/documents.h"
#include "calls/requests.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace probe_call_test {

constexpr const char* kStatus = "sys/bus/pci/devices/0000:03:00.0/power/runtime_status";

Gpu gpu_at_bus_3() {
    Gpu gpu;
    gpu.pci = PciInfo{.address = PciAddress{.bus = 3}};
    gpu.power.runtime_status = "active";
    return gpu;
}

TEST(PowerState, IsReadAnewEachTime) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    folder.write(kStatus, "suspended\n");
    EXPECT_EQ(power_state(files, gpu_at_bus_3()), "suspended");
    EXPECT_TRUE(is_asleep(files, gpu_at_bus_3()));
    folder.write(kStatus, "active\n");
    EXPECT_FALSE(is_asleep(files, gpu_at_bus_3()));
}

TEST(PowerState, ComesFromTheReportIfTheKernelReportsNothing) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    EXPECT_EQ(power_state(files, gpu_at_bus_3()), "active");
    EXPECT_EQ(power_state(files, Gpu{}), std::nullopt);
    EXPECT_FALSE(is_asleep(files, Gpu{}));
}

Report one_gpu() {
    Report report;
    report.gpus.push_back(gpu_at_bus_3());
    report.gpus.back().id = "pci:0000:03:00.0";
    return report;
}

TEST(ProbeCall, SpellsGpusAsTheReportDoes) {
    const support::TemporaryFolder folder;
    const auto meant = checked({.gpus = {"0000:03:00.0"}}, one_gpu(), RootedFiles{folder.path()});
    ASSERT_TRUE(meant) << meant.error().text;
    EXPECT_EQ(meant->gpus, std::vector<std::string>{"pci:0000:03:00.0"});
}

TEST(ProbeCall, RefusesMeaninglessRequests) {
    const support::TemporaryFolder folder;
    folder.write(kStatus, "suspended\n");
    const RootedFiles files{folder.path()};
    const std::vector<std::string> many(300, "0");
    EXPECT_EQ(checked({.gpus = many}, one_gpu(), files).error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(checked({.apis = many}, one_gpu(), files).error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(checked({.gpus = {"7"}}, one_gpu(), files).error().code, ErrorCode::UnknownDevice);
    EXPECT_EQ(checked({.gpus = {"0000:03:00.0"}}, one_gpu(), files).error().code,
              ErrorCode::WouldWake);
    EXPECT_TRUE(checked({.allow_wake = true, .gpus = {"0000:03:00.0"}}, one_gpu(), files));
}

TEST(ProbeCall, NeedsPermissionIfItAffectsOthers) {
    EXPECT_EQ(needs_of(ProbeRequest{}), std::vector<Action>{});
    EXPECT_EQ(needs_of({.allow_wake = true, .force = true}),
              (std::vector{Action::AllowWake, Action::MeasureInUse}));
}

}  // namespace probe_call_test
}  // namespace gpuprobe
