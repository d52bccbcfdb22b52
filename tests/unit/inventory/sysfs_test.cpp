// SPDX-License-Identifier: Apache-2.0
#include "inventory/sysfs.h"

#include <gtest/gtest.h>

#include "support/memory_files.h"

namespace gpuprobe {
namespace sysfs_test {

TEST(Modalias, IsReadWholeOrNotAtAll) {
    const std::string whole = "pci:v00001002d000015BFsv000017AAsd000050DAbc03sc00i00";
    EXPECT_EQ(ids_from_modalias(whole), (PciIds{"1002", "15bf", "17aa", "50da"}));
    EXPECT_EQ(class_from_modalias(whole), "030000");
    for (std::size_t length = 0; length < whole.size(); ++length) {
        EXPECT_EQ(ids_from_modalias(whole.substr(0, length)), PciIds{}) << length;
        EXPECT_EQ(class_from_modalias(whole.substr(0, length)), std::nullopt) << length;
    }
    EXPECT_EQ(ids_from_modalias("of:NgpuT(null)Carm,mali-valhall-csf"), PciIds{});
}

constexpr const char* kPolaris =
    "0x00000000d0000000 0x00000000dfffffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x00000000e0000000 0x00000000e01fffff 0x000000000014220c\n"
    "0x0000000000000000 0x0000000000000000 0x0000000000000000\n"
    "0x000000000000d000 0x000000000000d0ff 0x0000000000040101\n"
    "0x00000000fce00000 0x00000000fce3ffff 0x0000000000040200\n"
    "0x00000000c0000000 0x00000fffffffffff 0x000000000014220c\n";

TEST(Aperture, IsTheLargestPrefetchable64BitBarAmongSix) {
    EXPECT_EQ(largest_aperture(kPolaris), mib(256));
}

TEST(Aperture, NeedsAMemoryBarOf64Bits) {
    EXPECT_EQ(largest_aperture("0xf0000000 0xf0ffffff 0x00040200\n"), std::nullopt);
    EXPECT_EQ(largest_aperture("0xf0000000 0xf0ffffff 0x0014220c\n"), mib(16));
    EXPECT_EQ(largest_aperture("0xf0ffffff 0xf0000000 0x0014220c\n"), std::nullopt);
    EXPECT_EQ(largest_aperture("0x0 0xffffffffffffffff 0x0014220c\n"), std::nullopt);
    EXPECT_EQ(largest_aperture(""), std::nullopt);
}

TEST(Aperture, SurvivesACutAtAnyByte) {
    const std::string whole = kPolaris;
    for (std::size_t length = 0; length <= whole.size(); ++length)
        EXPECT_LE(largest_aperture(whole.substr(0, length)), mib(256)) << length;
}

// Reading files -----------------------------------------------------------------------------------

using support::MemoryFiles;
using Notes = std::vector<std::string>;

/// A file system in which reading some files causes an error.
class UnreadableFiles final : public FileSystem {
public:
    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes) const override {
        return problem(path);
    }
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override {
        return problem(path);
    }
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override {
        return problem(path);
    }
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override {
        return problem(path);
    }
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override {
        return problem(path);
    }

private:
    static Error problem(std::string_view path) {
        return {ErrorCode::PermissionDenied, std::string{path} + ": Permission denied"};
    }
};

TEST(SysfsText, IsTheFirstLineWithoutPadding) {
    MemoryFiles files;
    Notes notes;
    const Sysfs sysfs{files, notes};
    files.write("/a", "  one \ntwo\n");
    files.write("/padded", std::string{"a1b2\0\0\0", 7});
    files.write("/blank", " \n");
    files.write("/odd", "a\x1b[31m\n");
    EXPECT_EQ(sysfs.text("/a"), "one");
    EXPECT_EQ(sysfs.text("/padded"), "a1b2");
    EXPECT_EQ(sysfs.text("/blank"), std::nullopt);
    EXPECT_EQ(sysfs.text("/odd")->find('\x1b'), std::string::npos);
    EXPECT_EQ(sysfs.content("/a"), "  one \ntwo\n");
    EXPECT_EQ(sysfs.text("/missing"), std::nullopt);
    EXPECT_EQ(notes, Notes{}) << "a missing file needs no note";
}

TEST(SysfsNumber, IsDecimalAndNotNegative) {
    MemoryFiles files;
    Notes notes;
    const Sysfs sysfs{files, notes};
    const auto number = [&](const char* text) {
        files.write("/n", text);
        return sysfs.number("/n");
    };
    EXPECT_EQ(number("0\n"), 0U);
    EXPECT_EQ(number("18446744073709551615\n"), 18446744073709551615U);
    for (const auto* bad : {"", "-1\n", "0x10\n", "1 2\n", "18446744073709551616\n"})
        EXPECT_EQ(number(bad), std::nullopt) << bad;
}

TEST(SysfsNotes, AreAboutFilesThatExistAndHaveALimit) {
    const UnreadableFiles files;
    Notes notes;
    const Sysfs sysfs{files, notes};
    EXPECT_EQ(sysfs.text("/a"), std::nullopt);
    EXPECT_EQ(sysfs.names("/b"), std::vector<std::string>{});
    EXPECT_EQ(sysfs.resolved("/c"), std::nullopt);
    EXPECT_EQ(notes,
              (Notes{"/a: Permission denied", "/b: Permission denied", "/c: Permission denied"}));
    EXPECT_EQ(sysfs.link_name("/d"), std::nullopt);
    EXPECT_EQ(notes.size(), 3U) << "some captures have a folder instead of a link";
    for (std::size_t i = 0; i < 2 * kMaxNotes; ++i)
        sysfs.note("a\x1b");
    EXPECT_EQ(notes.size(), kMaxNotes);
    EXPECT_EQ(notes.back().find('\x1b'), std::string::npos);
}

TEST(SysfsNotes, AreMadeForAFileOverTheLimit) {
    MemoryFiles files;
    Notes notes;
    const Sysfs sysfs{files, notes};
    files.write("/a", std::string(kMaxAttribute.count, 'a'));
    EXPECT_TRUE(sysfs.content("/a"));
    files.write("/a", std::string(kMaxAttribute.count + 1, 'a'));
    EXPECT_EQ(sysfs.content("/a"), std::nullopt);
    EXPECT_EQ(notes, Notes{"/a: too large"});
}

TEST(KeyValues, AreLinesWithAnEqualsSign) {
    MemoryFiles files;
    Notes notes;
    files.write("/uevent", "DRIVER=amdgpu\nnothing\nA=b=c\nEMPTY=\nDRIVER=other\n");
    const auto values = Sysfs{files, notes}.key_values("/uevent");
    EXPECT_EQ(values, (KeyValues{{"A", "b=c"}, {"DRIVER", "amdgpu"}, {"EMPTY", ""}}));
}

TEST(Paths, AreSplitAtTheLastSlash) {
    EXPECT_EQ(base_name("/sys/bus/pci"), "pci");
    EXPECT_EQ(base_name("pci"), "pci");
    EXPECT_EQ(base_name("/sys/"), "");
    EXPECT_EQ(inventory::folder_of("/sys/bus/pci"), "/sys/bus");
    EXPECT_EQ(inventory::folder_of("/sys"), "/");
    EXPECT_EQ(inventory::folder_of("sys"), "/");
}

TEST(HexDigits, HaveTheWantedLength) {
    EXPECT_EQ(hex_digits("0x10DE", 4), "10de");
    EXPECT_EQ(hex_digits("10DE", 4), "10de");
    EXPECT_EQ(hex_digits("0x1", 4), "0001");
    EXPECT_EQ(hex_digits("0", 2), "00");
    EXPECT_EQ(hex_digits("0x0000001002", 4), "1002");
    for (const auto* bad : {"", "0x", "10000", "xyz", "-1", "10 de"})
        EXPECT_EQ(hex_digits(bad, 4), std::nullopt) << bad;
}

TEST(LittleEndian, ReadsUpToEightBytes) {
    EXPECT_EQ(little_endian(""), 0U);
    EXPECT_EQ(little_endian("\x01"), 1U);
    EXPECT_EQ(little_endian("\x34\x12"), 0x1234U);
    EXPECT_EQ(little_endian("\xff\xff\xff\xff\xff\xff\xff\xff"), 0xffffffffffffffffU);
}

// Devices -----------------------------------------------------------------------------------------

/// A folder of a PCI function with these files.
HardwareDevice function_with(const std::map<std::string, std::string>& contents,
                             const std::string& name = "0000:01:00.0") {
    MemoryFiles files;
    const auto path = "/sys/devices/pci0000:00/" + name;
    files.write(path + "/uevent", "PCI_SLOT_NAME=0000:01:00.0\n");
    for (const auto& [file, content] : contents)
        files.write(path + "/" + file, content);
    Notes notes;
    const Sysfs sysfs{files, notes};
    return device_from(sysfs, DeviceFolder{sysfs, path});
}

struct LackRow {
    const char* name;
    std::map<std::string, std::string> files;
    PciIds ids;
    std::optional<std::string> pci_class;
};
class DeviceIds : public ::testing::TestWithParam<LackRow> {};

TEST_P(DeviceIds, ComeFromTheFirstFileThatHasThem) {
    const auto device = function_with(GetParam().files);
    EXPECT_EQ((PciIds{device.vendor_id, device.device_id, device.subsystem_vendor_id,
                      device.subsystem_device_id}),
              GetParam().ids);
    EXPECT_EQ(device.pci_class, GetParam().pci_class);
}

constexpr const char* kUevent =
    "PCI_CLASS=30200\nPCI_ID=10DE:2335\nPCI_SUBSYS_ID=10DE:18BE\nPCI_SLOT_NAME=0000:01:00.0\n";
constexpr const char* kModalias = "pci:v00001002d000015BFsv000017AAsd000050DAbc03sc80i00\n";

INSTANTIATE_TEST_SUITE_P(
    Table,
    DeviceIds,
    ::testing::Values(
        LackRow{"Files",
                {{"vendor", "0x8086\n"},
                 {"device", "0xa788\n"},
                 {"subsystem_vendor", "0x17aa\n"},
                 {"subsystem_device", "0x3b2d\n"},
                 {"class", "0x030000\n"},
                 {"uevent", kUevent},
                 {"modalias", kModalias}},
                {"8086", "a788", "17aa", "3b2d"},
                "0300"},
        LackRow{"Uevent",
                {{"uevent", kUevent}, {"modalias", kModalias}},
                {"10de", "2335", "10de", "18be"},
                "0302"},
        LackRow{"Modalias", {{"modalias", kModalias}}, {"1002", "15bf", "17aa", "50da"}, "0380"},
        LackRow{"ModaliasInTheUevent",
                {{"uevent", std::string{"PCI_SLOT_NAME=0000:01:00.0\nMODALIAS="} + kModalias}},
                {"1002", "15bf", "17aa", "50da"},
                "0380"},
        LackRow{"Mixed",
                {{"device", "0xa788\n"}, {"uevent", kUevent}},
                {"10de", "a788", "10de", "18be"},
                "0302"},
        LackRow{"NotHexadecimal", {{"vendor", "nvidia\n"}, {"class", "display\n"}}, {}, {}},
        LackRow{"NoSubsystem",
                {{"vendor", "0x10de\n"},
                 {"subsystem_vendor", "0x0000\n"},
                 {"subsystem_device", "0x0001\n"}},
                {"10de", {}, {}, {}},
                {}},
        LackRow{"Nothing", {}, {}, {}}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(DeviceFacts, AreUnknownIfTheyAreOutOfRange) {
    const auto device = function_with({{"numa_node", "1\n"},
                                       {"boot_vga", "1\n"},
                                       {"revision", "0xa1\n"},
                                       {"power/runtime_status", "active\n"},
                                       {"current_link_width", "16\n"},
                                       {"max_link_width", "32\n"}});
    EXPECT_EQ(device.id, "pci:0000:01:00.0");
    EXPECT_EQ(device.bus, HardwareBus::Pci);
    EXPECT_EQ(device.numa_node, 1);
    EXPECT_EQ(device.boot_vga, true);
    EXPECT_EQ(device.revision, "a1");
    EXPECT_EQ(device.link_width, 16U);
    EXPECT_EQ(device.max_link_width, 32U);
    const auto odd = function_with({{"numa_node", "-1\n"},
                                    {"boot_vga", "2\n"},
                                    {"revision", "0x1a1\n"},
                                    {"power/runtime_status", "active\n"},
                                    {"current_link_width", "0\n"},
                                    {"max_link_width", "255\n"}});
    EXPECT_EQ(odd.numa_node, std::nullopt);
    EXPECT_EQ(odd.boot_vga, std::nullopt);
    EXPECT_EQ(odd.revision, std::nullopt);
    EXPECT_EQ(odd.link_width, std::nullopt);
    EXPECT_EQ(odd.max_link_width, std::nullopt);
}

TEST(DeviceFacts, DoNotReadTheLinkOfASleepingDevice) {
    const auto device =
        function_with({{"power/runtime_status", "suspended\n"}, {"current_link_width", "16\n"}});
    EXPECT_EQ(device.runtime_status, "suspended");
    EXPECT_EQ(device.link_width, std::nullopt);
}

TEST(DeviceFacts, HaveTheAddressOfAFolderWithAnotherName) {
    EXPECT_EQ(function_with({}, "device").id, "pci:0000:01:00.0");
}

struct SubsystemRow {
    const char* name;
    const char* path;
    const char* uevent;
    std::optional<std::string> subsystem;
    const char* id;
};
class Subsystems : public ::testing::TestWithParam<SubsystemRow> {};

TEST_P(Subsystems, AreDerivedWithoutALink) {
    MemoryFiles files;
    files.write(GetParam().path + std::string{"/uevent"}, GetParam().uevent);
    Notes notes;
    const Sysfs sysfs{files, notes};
    const DeviceFolder folder{sysfs, GetParam().path};
    EXPECT_EQ(folder.subsystem(), GetParam().subsystem);
    EXPECT_EQ(device_from(sysfs, folder).id, GetParam().id);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Subsystems,
    ::testing::Values(
        SubsystemRow{"PciByName", "/sys/devices/pci0000:00/0000:01:00.0", "", "pci",
                     "pci:0000:01:00.0"},
        SubsystemRow{"PciByIds", "/sys/devices/gpu", "PCI_ID=10DE:2335\n", "pci", "pci:gpu"},
        SubsystemRow{"Virtio", "/sys/devices/virtio3", "", "virtio", "virtio:virtio3"},
        SubsystemRow{"PlatformByTree", "/sys/devices/gpu", "OF_FULLNAME=/gpu\n", "platform",
                     "platform:gpu"},
        SubsystemRow{"PlatformByPath", "/sys/devices/platform/fb000000.gpu", "", "platform",
                     "platform:fb000000.gpu"},
        SubsystemRow{"Unknown", "/sys/devices/thing", "", {}, "other:thing"},
        SubsystemRow{
            "PlainFolderOfACapture", "/sys/class/drm/card0/device", "", {}, "other:card0"}),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(Compatible, ComesFromTheTreeElseFromTheUevent) {
    const auto compatible = [](const char* tree, const std::string& uevent) {
        MemoryFiles files;
        files.write("/sys/devices/platform/gpu/uevent", uevent);
        if (*tree)
            files.write("/sys/devices/platform/gpu/of_node/compatible",
                        std::string{tree} + std::string{"\0arm,mali\0", 10});
        Notes notes;
        const Sysfs sysfs{files, notes};
        return device_from(sysfs, DeviceFolder{sysfs, "/sys/devices/platform/gpu"}).compatible;
    };
    using Names = std::vector<std::string>;
    const std::string uevent = "OF_COMPATIBLE_0=a,b\nOF_COMPATIBLE_1=c,d\nOF_COMPATIBLE_3=e,f\n";
    EXPECT_EQ(compatible("rockchip,mali", uevent), (Names{"rockchip,mali", "arm,mali"}));
    EXPECT_EQ(compatible("", uevent), (Names{"a,b", "c,d"})) << "up to the first missing number";
    EXPECT_EQ(compatible("", ""), Names{});
}

}  // namespace sysfs_test
}  // namespace gpuprobe
