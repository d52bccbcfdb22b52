// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include <gtest/gtest.h>

#include "inventory/driver_files.h"
#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace slowdowns_test {

using Words = std::optional<std::vector<std::string>>;

constexpr const char* kFolder = "/sys/devices/pci0000:00/0000:00:02.0";

/// A device that is awake, unless `status` has another value.
struct Slowed : FakeMachine {
    explicit Slowed(const char* driver, const char* status = "active") {
        device.sysfs_path = kFolder;
        device.driver = driver;
        own("power/runtime_status", std::string{status} + "\n");
    }
    void own(const std::string& name, std::string_view content) const {
        file(std::string{kFolder} + "/" + name, content);
    }
    [[nodiscard]] Words words() const { return slowdowns_of(RootedFiles{root()}, device); }

    HardwareDevice device = {};
};

/// A gpu_metrics table of that version. All bytes are zero except the eight bytes of the status.
std::string metrics(unsigned char format,
                    unsigned char content,
                    std::size_t size,
                    std::size_t place,
                    std::uint64_t status) {
    std::string bytes(size, '\0');
    bytes[0] = static_cast<char>(size);
    bytes[2] = static_cast<char>(format);
    bytes[3] = static_cast<char>(content);
    for (std::size_t i = 0; i < 8; ++i)
        bytes[place + i] = static_cast<char>(status >> (8 * i));
    return bytes;
}
/// The table of a card: gpu_metrics_v1_3 has 120 bytes.
std::string of_card(std::uint64_t status) {
    return metrics(1, 3, 120, 112, status);
}
constexpr std::uint64_t bit(unsigned number) {
    return std::uint64_t{1} << number;
}

Words words_of_card(const std::string& bytes) {
    const Slowed machine{"amdgpu"};
    machine.own("gpu_metrics", bytes);
    return machine.words();
}

TEST(SlowdownsOfAmdgpu, AreTheBitsThatMeanTheSameOnAllChips) {
    struct Row {
        unsigned bit;
        const char* word;
    };
    for (const auto& row :
         {Row{0, "power-cap"}, Row{7, "power-cap"}, Row{16, "power-cap"}, Row{23, "power-cap"},
          Row{32, "thermal"}, Row{43, "thermal"}, Row{44, "hw-thermal"}, Row{45, "hw-thermal"},
          Row{46, "slowdown"}, Row{47, "slowdown"}, Row{56, "other"}, Row{57, "other"}})
        EXPECT_EQ(words_of_card(of_card(bit(row.bit))), (Words{{row.word}})) << row.bit;
    EXPECT_EQ(words_of_card(of_card(0)), (Words{std::vector<std::string>{}}));
    EXPECT_EQ(words_of_card(of_card(bit(36) | bit(2) | bit(1))), (Words{{"power-cap", "thermal"}}));
    EXPECT_EQ(words_of_card(of_card(UINT64_MAX)), std::nullopt) << "the driver left it";
}

TEST(SlowdownsOfAmdgpu, AreOfTheVersionsThatHaveThem) {
    for (const auto content : std::to_array<unsigned char>({2, 3, 4}))
        EXPECT_EQ(words_of_card(metrics(2, content, 200, 120, bit(33))), (Words{{"thermal"}}));
    for (const auto& [format, content] : std::to_array<std::pair<int, int>>(
             {{1, 0}, {1, 1}, {1, 2}, {1, 4}, {1, 8}, {2, 0}, {2, 1}, {3, 0}, {4, 1}}))
        EXPECT_EQ(words_of_card(metrics(static_cast<unsigned char>(format),
                                        static_cast<unsigned char>(content), 250, 112, bit(33))),
                  std::nullopt)
            << format << "." << content;
}

TEST(SlowdownsOfAmdgpu, AreNotThereInAFileThatIsCut) {
    const auto whole = of_card(bit(33));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_EQ(words_of_card(whole.substr(0, size)), std::nullopt) << size;
    EXPECT_EQ(words_of_card(metrics(1, 3, 119, 111, bit(33))), std::nullopt) << "too short for it";
}

TEST(SlowdownsOfI915, AreTheReasonsOfAllParts) {
    const Slowed machine{"i915"};
    const auto part = [](const char* gt) { return std::string{"drm/card0/gt/"} + gt + "/"; };
    machine.own("drm/card0/dev", "226:0\n");
    machine.own("drm/renderD128/dev", "226:128\n");
    EXPECT_EQ(machine.words(), std::nullopt) << "before Linux 5.19";
    for (const auto* gt : {"gt0", "gt1"})
        machine.own(part(gt) + "throttle_reason_status", "0\n");
    machine.own(part("gt0") + "throttle_reason_thermal", "1\n");
    EXPECT_EQ(machine.words(), (Words{std::vector<std::string>{}})) << "the status is for all";
    machine.own(part("gt0") + "throttle_reason_status", "1\n");
    machine.own(part("gt0") + "throttle_reason_pl1", "0\n");
    EXPECT_EQ(machine.words(), (Words{{"thermal"}}));
    machine.own(part("gt1") + "throttle_reason_status", "1\n");
    machine.own(part("gt1") + "throttle_reason_prochot", "1\n");
    machine.own(part("gt1") + "throttle_reason_pl2", "1\n");
    EXPECT_EQ(machine.words(), (Words{{"power-cap", "slowdown", "thermal"}}));
}

TEST(SlowdownsOfXe, AreTheReasonsOfAllTiles) {
    const Slowed machine{"xe"};
    const std::string first = "tile0/gt0/freq0/throttle/";
    machine.own(first + "status", "1\n");
    EXPECT_EQ(machine.words(), (Words{{"other"}})) << "it says that there is one, and not which";
    machine.own(first + "reason_vr_thermalert", "1\n");
    machine.own("tile1/gt1/freq0/throttle/status", "1\n");
    machine.own("tile1/gt1/freq0/throttle/reason_soc_thermal", "1\n");
    machine.own("tile1/gt1/freq0/throttle/reason_of_a_later_kernel", "1\n");
    EXPECT_EQ(machine.words(), (Words{{"thermal", "hw-thermal", "other"}}));
    machine.own(first + "status", "perhaps\n");
    machine.own("tile1/gt1/freq0/throttle/status", "2\n");
    EXPECT_EQ(machine.words(), std::nullopt);
}

TEST(SlowdownsOf, AreReadOnlyOfAwakeDevices) {
    for (const auto* driver : {"amdgpu", "i915", "xe"})
        for (const auto* status : {"suspended", "suspending", "resuming", "error", ""}) {
            const Slowed machine{driver, status};
            machine.own("gpu_metrics", of_card(bit(33)));
            machine.own("drm/card0/gt/gt0/throttle_reason_status", "1\n");
            machine.own("tile0/gt0/freq0/throttle/status", "1\n");
            const WatchedFiles files{machine.root()};
            EXPECT_EQ(slowdowns_of(files, machine.device), std::nullopt) << driver << status;
            EXPECT_EQ(files.read_paths().size(), 1U) << driver << status;
            EXPECT_TRUE(files.listed_paths().empty()) << driver << status;
        }
    const Slowed other{"nouveau"};
    other.own("gpu_metrics", of_card(bit(33)));
    EXPECT_EQ(other.words(), std::nullopt);
}

}  // namespace slowdowns_test
}  // namespace gpuprobe
