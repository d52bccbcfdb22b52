// SPDX-License-Identifier: Apache-2.0
#include "backends/pci/pci.h"

#include <filesystem>
#include <fstream>

#include "in_child.h"
#include "recording_sink.h"

namespace gpuprobe::backends {
namespace pci_test {

namespace fs = std::filesystem;

TEST(IsGpuClass, TakesDisplaysAndAcceleratorsOnly) {
    using Classes = std::vector<std::uint16_t>;
    for (const auto yes : Classes{0x0300, 0x0302, 0x0380, 0x0b40, 0x1180, 0x1200, 0x12ff})
        EXPECT_TRUE(is_gpu_class(yes)) << std::hex << yes;
    for (const auto no : Classes{0, 0x0200, 0x02ff, 0x0400, 0x0604, 0x0b41, 0x1181, 0x1300, 0xffff})
        EXPECT_FALSE(is_gpu_class(no)) << std::hex << no;
}

/// A sysfs tree with PCI functions that the test chooses, and an id database.
class FakeBus : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = testing::TempDir() + "gpuprobe-pci-XXXXXX";
        root_ = ::mkdtemp(pattern.data());
        fs::create_directories(root_ / "devices");
        write(root_ / "pci.ids",
              "10de  NVIDIA Corporation\n"
              "\t2684  AD102 [GeForce RTX 4090]\n"
              "\t\t1043 889f  TUF Gaming\n");
    }
    void TearDown() override { fs::remove_all(root_); }

    static void write(const fs::path& path, const std::string& text) {
        std::ofstream{path} << text;
    }
    void add(const std::string& address, const std::string& pci_class, const std::string& device) {
        const auto folder = root_ / "devices" / address;
        fs::create_directories(folder);
        write(folder / "vendor", "0x10de\n");
        write(folder / "device", device + "\n");
        write(folder / "class", pci_class + "\n");
        write(folder / "revision", "0xa1\n");
        write(folder / "subsystem_vendor", "0x1043\n");
        write(folder / "subsystem_device", "0x889f\n");
        write(folder / "numa_node", "-1\n");
        write(folder / "irq", "0\n");
        write(folder / "resource",
              "0x00000000fb000000 0x00000000fbffffff 0x0000000000040200\n"
              "0x0000006000000000 0x00000067ffffffff 0x000000000014220c\n"
              "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
              "0x0000006800000000 0x0000006801ffffff 0x000000000014220c\n"
              "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
              "0x000000000000e000 0x000000000000e07f 0x0000000000040101\n"
              "0x00000000fc000000 0x00000000fc07ffff 0x0000000000046200\n");
    }
    PciSources sources() {
        return {.sysfs = root_.string(), .id_database = (root_ / "pci.ids").string()};
    }
    fs::path root_ = {};
};

TEST_F(FakeBus, ReportsNamesIdsAndBars) {
    add("0000:01:00.0", "0x030000", "0x2684");
    add("0000:00:00.0", "0x060000", "0x0001");
    const int status = status_of_child([this] {
        RecordingSink sink;
        const auto answer = query_pci_at(sources(), sink);
        EXPECT_EQ(answer.outcome, Outcome::Answered);
        EXPECT_EQ(answer.note, std::nullopt);
        ASSERT_EQ(sink.devices.size(), 1U) << "the host bridge is no GPU";
        const auto& device = sink.devices.front();
        EXPECT_EQ(device.pci, PciAddress{.bus = 1});
        EXPECT_EQ(device.vendor_id, "10de");
        EXPECT_EQ(device.device_id, "2684");
        EXPECT_EQ(device.name, "AD102 [GeForce RTX 4090]");
        EXPECT_EQ(device.extra.at("vendor_name"), Value{"NVIDIA Corporation"});
        EXPECT_EQ(device.extra.at("subsystem_name"), Value{"TUF Gaming"});
        EXPECT_EQ(device.extra.at("subsystem_vendor_id"), Value{"1043"});
        EXPECT_EQ(device.extra.at("class"), Value{"0300"});
        EXPECT_EQ(device.extra.at("revision"), Value{"a1"});
        EXPECT_TRUE(device.extra.at("numa_node").is_null());
        const auto* bars = device.extra.at("bars").as_array();
        ASSERT_TRUE(bars);
        ASSERT_EQ(bars->size(), 4U);
        EXPECT_EQ((*bars)[1].at("index"), Value{1});
        EXPECT_EQ((*bars)[1].at("size"), Value{std::uint64_t{32} << 30});
        EXPECT_EQ((*bars)[1].at("prefetchable"), Value{true});
        EXPECT_EQ((*bars)[0].at("prefetchable"), Value{false});
        EXPECT_EQ((*bars)[3].at("io"), Value{true});
    });
    EXPECT_EQ(status, 0);
}

TEST_F(FakeBus, ListsByAddressWithWideDomains) {
    add("10000:01:00.0", "0x030200", "0x2684");
    add("0000:02:00.0", "0x030200", "0x2684");
    add("0000:01:00.1", "0x120000", "0x2684");
    const int status = status_of_child([this] {
        RecordingSink sink;
        EXPECT_EQ(query_pci_at(sources(), sink).outcome, Outcome::Answered);
        ASSERT_EQ(sink.devices.size(), 3U);
        EXPECT_EQ(sink.devices[0].pci, (PciAddress{.bus = 1, .function = 1}));
        EXPECT_EQ(sink.devices[1].pci, PciAddress{.bus = 2});
        EXPECT_EQ(sink.devices[2].pci, (PciAddress{.domain = 0x10000, .bus = 1}));
    });
    EXPECT_EQ(status, 0);
}

TEST_F(FakeBus, LosesOnlyNamesWithTheDatabase) {
    add("0000:01:00.0", "0x030000", "0x2684");
    for (const auto* content : {"this is not a list of ids\n", "\t2684  orphan\n", ""}) {
        write(root_ / "pci.ids", content);
        const int status = status_of_child([this] {
            RecordingSink sink;
            EXPECT_EQ(query_pci_at(sources(), sink).outcome, Outcome::Answered);
            ASSERT_EQ(sink.devices.size(), 1U);
            EXPECT_EQ(sink.devices.front().device_id, "2684");
        });
        EXPECT_EQ(status, 0) << content;
    }
    fs::remove(root_ / "pci.ids");
    const int status = status_of_child([this] {
        RecordingSink sink;
        EXPECT_EQ(query_pci_at(sources(), sink).outcome, Outcome::Answered);
        EXPECT_EQ(sink.devices.size(), 1U);
    });
    EXPECT_EQ(status, 0);
}

TEST_F(FakeBus, FailsInLibpcisWordsWhenADeviceIsHalfThere) {
    add("0000:01:00.0", "0x030000", "0x2684");
    fs::remove(root_ / "devices/0000:01:00.0/vendor");
    const int status = status_of_child([this] {
        RecordingSink sink;
        const auto answer = query_pci_at(sources(), sink);
        EXPECT_EQ(answer.outcome, Outcome::Failed);
        EXPECT_NE(answer.note.value_or("").find("libpci: "), std::string::npos);
        EXPECT_TRUE(sink.devices.empty());
    });
    EXPECT_EQ(status, 0);
}

TEST_F(FakeBus, IsAbsentOnAMachineWithoutPci) {
    const int status = status_of_child([this] {
        RecordingSink sink;
        const auto answer = query_pci_at({.sysfs = (root_ / "nowhere").string()}, sink);
        EXPECT_EQ(answer.outcome, Outcome::Absent);
        EXPECT_EQ(answer.note, "this machine has no PCI bus");
    });
    EXPECT_EQ(status, 0);
}

}  // namespace pci_test
}  // namespace gpuprobe::backends
