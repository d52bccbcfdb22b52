// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "backends/compute/stages.h"
#include "support/temporary_folder.h"

namespace gpuprobe::backends {
namespace context_meter_test {

using support::TemporaryFolder;

TEST(ContextMeter, ReportsTheMemoryUsedSinceItsCreation) {
    std::optional<Bytes> free = gib(10);
    const ContextMeter meter{[&free] { return free; }};
    EXPECT_EQ(meter.taken(), std::nullopt) << "nothing";
    free = Bytes{gib(10).count - kib(128).count};
    EXPECT_EQ(meter.taken(), std::nullopt) << "what differs from reading to reading";
    free = Bytes{gib(10).count - mib(523).count};
    EXPECT_EQ(meter.taken(), mib(523));
    free = gib(11);
    EXPECT_EQ(meter.taken(), std::nullopt) << "somebody else gave some back";
    free.reset();
    EXPECT_EQ(meter.taken(), std::nullopt) << "nobody tells any more";
}

TEST(ContextMeter, WaitsForMemoryOfEndedProcesses) {
    // The driver returns the memory of ended processes in pieces, and NVML's own clients use some
    // pages.
    auto free = gib(10);
    std::chrono::milliseconds waited{0};
    const ContextMeter meter{[&free, &waited] {
                                 if (waited < std::chrono::milliseconds{200})
                                     free = Bytes{free.count + mib(100).count};
                                 else
                                     free = Bytes{free.count + kib(64).count};
                                 return std::optional{free};
                             },
                             [&waited](std::chrono::milliseconds time) { waited += time; }};
    EXPECT_EQ(waited, std::chrono::milliseconds{200});
    free = Bytes{free.count - mib(523).count};
    EXPECT_EQ(meter.taken(), Bytes{mib(523).count - kib(64).count});
}

TEST(ContextMeter, CannotTellWhereOthersTakeOrFree) {
    auto free = gib(10);
    std::chrono::milliseconds waited{0};
    const ContextMeter unsteady{
        [&free] { return std::optional{free = Bytes{free.count - mib(2).count}}; },
        [&waited](std::chrono::milliseconds time) { waited += time; }};
    EXPECT_LE(waited, std::chrono::seconds{1});
    EXPECT_GT(waited, std::chrono::milliseconds{500});
    EXPECT_EQ(unsteady.taken(), std::nullopt);
    const ContextMeter meter{[&free] { return std::optional{free}; }};
    free = gib(7);  // a larger change than any context causes
    EXPECT_EQ(meter.taken(), std::nullopt);
}

TEST(ContextMeter, IsUnknownWithoutASource) {
    std::optional<Bytes> free;
    const ContextMeter meter{[&free] { return free; }};
    free = gib(1);
    EXPECT_EQ(meter.taken(), std::nullopt);
    EXPECT_EQ(ContextMeter{}.taken(), std::nullopt);
}

class ContextMeterOfAGpu : public ::testing::Test {
protected:
    void write_files(const char* vendor, const char* total, const char* used) const {
        root_.write("sys/bus/pci/devices/0000:03:00.0/vendor", vendor);
        root_.write("sys/bus/pci/devices/0000:03:00.0/mem_info_vram_total", total);
        root_.write("sys/bus/pci/devices/0000:03:00.0/mem_info_vram_used", used);
    }
    [[nodiscard]] ContextMeter meter(const char* device) const {
        return context_meter_of(files_, {.api = "hip", .stage = "measure", .device = device});
    }
    TemporaryFolder root_ = {};
    RootedFiles files_{root_.path()};
};

TEST_F(ContextMeterOfAGpu, ReadsAmdgpusFiles) {
    write_files("0x1002\n", "17163091968\n", "20971520\n");
    const auto one = meter("pci:0000:03:00.0");
    write_files("0x1002\n", "17163091968\n", "188743680\n");
    EXPECT_EQ(one.taken(), mib(160));
    write_files("0x1002\n", "17163091968\n", "99999999999\n");
    EXPECT_EQ(one.taken(), std::nullopt) << "more than there is";
}

TEST_F(ContextMeterOfAGpu, CountsTheHostMemoryOfAnApu) {
    const auto gtt = [this](const char* used) {
        root_.write("sys/bus/pci/devices/0000:03:00.0/mem_info_gtt_total", "33554432000\n");
        root_.write("sys/bus/pci/devices/0000:03:00.0/mem_info_gtt_used", used);
    };
    write_files("0x1002\n", "536870912\n", "20971520\n");
    gtt("1048576\n");
    const auto one = meter("pci:0000:03:00.0");
    write_files("0x1002\n", "536870912\n", "22020096\n");
    gtt("525336576\n");
    EXPECT_EQ(one.taken(), mib(501));
}

TEST_F(ContextMeterOfAGpu, CannotTellOfOthers) {
    write_files("0x8086\n", "", "");
    for (const auto* device : {"pci:0000:03:00.0", "pci:nonsense", "index:0", ""}) {
        const auto one = meter(device);
        write_files("0x8086\n", "", "1\n");
        EXPECT_EQ(one.taken(), std::nullopt) << device;
    }
}

}  // namespace context_meter_test
}  // namespace gpuprobe::backends
