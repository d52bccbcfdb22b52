// SPDX-License-Identifier: Apache-2.0
#include "engine/live_memory.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "inventory/scan.h"
#include "report/assemble.h"
#include "report/compute_view.h"
#include "support/places.h"
#include "support/temporary_folder.h"

namespace gpuprobe::engine {
namespace live_memory_test {

using std::chrono::seconds;
using support::TemporaryFolder;

constexpr WallTime kBefore{seconds{1'795'000'000}};
constexpr WallTime kNow{seconds{1'795'000'060}};
const std::string kId = "pci:0000:03:00.0";
const std::string kDevice = "sys/devices/pci0000:00/0000:03:00.0/";

class FakeClock final : public Clock {
public:
    [[nodiscard]] WallTime wall() const override { return now; }
    [[nodiscard]] MonotonicTime monotonic() const override { return {}; }
    WallTime now = kNow;
};

/// A machine with one GPU, its reader, and the probes that the reader started.
class Bench {
public:
    Bench(const char* vendor, const char* device_class, const char* driver) {
        root_.write(kDevice + "vendor", std::string{"0x"} + vendor + "\n");
        root_.write(kDevice + "device", "0x7448\n");
        root_.write(kDevice + "class", std::string{"0x"} + device_class + "\n");
        root_.write(kDevice + "power/runtime_status", "active\n");
        root_.link(kDevice + "driver", std::string{"../../../bus/pci/drivers/"} + driver);
        root_.link("sys/bus/pci/devices/0000:03:00.0", "../../../devices/pci0000:00/0000:03:00.0");
    }

    void file(const std::string& name, const std::string& content) {
        root_.write(name, content + "\n");
    }
    void link(const std::string& name, const std::string& target) { root_.link(name, target); }
    void available(Bytes size) {
        file("proc/meminfo",
             "MemTotal: 16777216 kB\nMemAvailable: " + std::to_string(size.count / 1024) + " kB");
    }
    void knows(ProbeResult probe) { probes_.push_back(std::move(probe)); }

    /// The data that the engine has read. Later changes of files are not included.
    void scan(std::size_t gpus = 1) {
        machine_ = scan_machine(files_, RecordedNodes{}, Host{.memory = host_memory(files_)});
        const auto report = assemble(machine_, probes_, ReportContext{.now = kBefore});
        ASSERT_EQ(report.gpus.size(), gpus);
        gpu_ = *std::ranges::find(report.gpus, kId, &Gpu::id);
    }
    /// After this call, read() reads the memory of the first partition.
    void take_partition() {
        const Report report{.gpus = {gpu_}};
        gpu_ = ComputeView{report}.report().gpus.front();
    }
    Status read(bool allow_wake = false) {
        std::vector<ProbeTarget> targets;
        for (const auto& probe : probes_)
            targets.push_back({.api = probe.api, .driver = probe.driver});
        return reader_.read({gpu_, machine_, probes_, targets, allow_wake},
                            [this](const LiveMemory& memory) { answers.push_back(memory); });
    }
    LiveMemory only_answer() {
        EXPECT_EQ(answers.size(), 1u);
        return answers.empty() ? LiveMemory{} : answers.front();
    }
    [[nodiscard]] const Gpu& gpu() const { return gpu_; }

    std::vector<LiveMemory> answers = {};
    std::vector<std::pair<ProbeTarget, LiveMemoryReader::Probed>> started = {};

private:
    TemporaryFolder root_ = {};
    RootedFiles files_{root_.path()};
    FakeClock clock_ = {};
    Machine machine_ = {};
    std::vector<ProbeResult> probes_ = {};
    Gpu gpu_ = {};
    LiveMemoryReader reader_{files_, clock_,
                             [this](const ProbeTarget& target, LiveMemoryReader::Probed probed) {
                                 started.emplace_back(target, std::move(probed));
                             }};
};

ProbeResult answered(const char* api, Bytes total, std::optional<Bytes> free, WallTime at) {
    return ProbeResult{.api = api,
                       .outcome = Outcome::Answered,
                       .devices = {DeviceFacts{.index = 0,
                                               .name = "A GPU",
                                               .pci = PciAddress{.bus = 3},
                                               .type = DeviceType::Discrete,
                                               .memory = FactMemory{.total = total, .free = free}}},
                       .at = at};
}

struct AnAmdCard : Bench {
    AnAmdCard() : Bench{"1002", "030000", "amdgpu"} {
        file(kDevice + "board_info", "type : oam");
        file(kDevice + "mem_info_vram_total", std::to_string(gib(24).count));
        file(kDevice + "mem_info_vram_used", std::to_string(gib(1).count));
        scan();
    }
};

struct AnNvidiaCard : Bench {
    AnNvidiaCard() : Bench{"10de", "030200", "nvidia"} {
        knows(answered("nvml", gib(80), gib(79), kBefore));
        knows(answered("vulkan", gib(80), gib(78), kBefore));
        scan();
    }
};

TEST(LiveMemory, OfAnAmdCardIsReadFromItsFilesEvenAsleep) {
    AnAmdCard card;
    card.file(kDevice + "mem_info_vram_used", std::to_string(gib(20).count));
    card.file(kDevice + "power/runtime_status", "suspended");
    ASSERT_TRUE(card.read());
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.free, gib(4));
    EXPECT_EQ(memory.physical, gib(24));
    EXPECT_EQ(memory.free_at, kNow);
    EXPECT_EQ(memory.source, "amdgpu-sysfs");
    EXPECT_TRUE(card.started.empty());
}

TEST(LiveMemory, OfAnAmdCardWithoutFilesIsTheLastKnownValue) {
    AnAmdCard card;
    card.file(kDevice + "mem_info_vram_used", "nonsense");
    ASSERT_TRUE(card.read());
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.free, gib(23));
    EXPECT_EQ(memory.free_at, kBefore);
    EXPECT_EQ(memory.source, "report");
}

TEST(LiveMemory, OfAUnifiedGpuIsTheAvailableMemoryOfTheHost) {
    Bench laptop{"8086", "030000", "i915"};
    laptop.available(gib(8));
    auto vulkan = answered("vulkan", gib(16), gib(7), kBefore);
    vulkan.devices.front().type = DeviceType::Integrated;
    laptop.knows(vulkan);
    laptop.scan();
    laptop.available(gib(4));
    ASSERT_TRUE(laptop.read());
    const auto memory = laptop.only_answer();
    EXPECT_EQ(memory.kind, MemoryKind::Unified);
    EXPECT_EQ(memory.free, Bytes{gib(4).count / 10 * 9});
    EXPECT_EQ(memory.source, "meminfo");
    EXPECT_TRUE(laptop.started.empty());
}

TEST(LiveMemory, OfAnNvidiaCardIsReadOnlyByNvml) {
    AnNvidiaCard card;
    ASSERT_TRUE(card.read());
    EXPECT_TRUE(card.answers.empty());
    ASSERT_EQ(card.started.size(), 1u);
    EXPECT_EQ(card.started.front().first.api, "nvml");
    card.started.front().second(answered("nvml", gib(80), gib(30), kNow));
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.free, gib(30));
    EXPECT_EQ(memory.free_at, kNow);
    EXPECT_EQ(memory.source, "nvml");
    const MemoryReading reading{.source = "nvml", .what = "free", .bytes = gib(30)};
    EXPECT_NE(std::ranges::find(memory.evidence, reading), memory.evidence.end());
}

/// An answer of NVML with one instance that has the given free memory.
ProbeResult divided(Bytes free, WallTime at) {
    auto probe = answered("nvml", gib(80), gib(79), at);
    Value instance;
    instance["gpu_instance"] = 1;
    instance["compute_instance"] = 0;
    instance["uuid"] = "MIG-7e611089-1272-699d-8985-ab84fef4311e";
    instance["memory"] = to_value(FactMemory{.total = gib(10), .free = free});
    auto& extra = probe.devices.front().extra;
    extra["mig_mode"] = true;
    extra["mig_devices"].push_back(std::move(instance));
    return probe;
}

TEST(LiveMemory, OfAMigInstanceIsItsOwn) {
    Bench card{"10de", "030200", "nvidia"};
    card.knows(divided(gib(9), kBefore));
    card.scan();
    card.take_partition();
    ASSERT_EQ(card.gpu().id, kId + "/mig-1");
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.started.size(), 1u);
    card.started.front().second(divided(gib(3), kNow));
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.physical, gib(10));
    EXPECT_EQ(memory.free, gib(3));
    EXPECT_EQ(memory.free_at, kNow);
    EXPECT_EQ(memory.source, "nvml");
}

TEST(LiveMemory, OfAnInstanceThatIsGoneIsTheLastKnown) {
    Bench card{"10de", "030200", "nvidia"};
    card.knows(divided(gib(9), kBefore));
    card.scan();
    card.take_partition();
    ASSERT_TRUE(card.read());
    card.started.front().second(answered("nvml", gib(80), gib(79), kNow));
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.free, gib(9));
    EXPECT_EQ(memory.free_at, kBefore);
    EXPECT_EQ(memory.source, "report");
}

TEST(LiveMemory, IsAskedOfTheVulkanDriverThatServesTheGpu) {
    Bench card{"8086", "038000", "xe"};
    auto vulkan = answered("vulkan", gib(12), gib(11), kBefore);
    vulkan.driver = "/usr/share/vulkan/icd.d/intel_icd.x86_64.json";
    card.knows({.api = "vulkan",
                .driver = "/usr/share/vulkan/icd.d/a_icd.json",
                .outcome = Outcome::Answered});
    card.knows(vulkan);
    card.scan();
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.started.size(), 1u);
    EXPECT_EQ(card.started.front().first.driver, vulkan.driver);
}

TEST(LiveMemory, OfAnIntelCardIsAskedOfSysmanWhereVulkanDoesNotSay) {
    Bench card{"8086", "038000", "xe"};
    card.knows(answered("vulkan", gib(12), std::nullopt, kBefore));
    card.knows(answered("level_zero_sysman", gib(12), gib(11), kBefore));
    card.scan();
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.started.size(), 1u);
    card.started.front().second(answered("level_zero_sysman", gib(12), gib(5), kNow));
    EXPECT_EQ(card.only_answer().free, gib(5));
    EXPECT_EQ(card.only_answer().source, "level_zero_sysman");
}

TEST(LiveMemory, PrefersProbesThatWakeNoDevice) {
    Bench card{"8086", "038000", "xe"};
    card.file("sys/devices/pci0000:00/0000:00:04.0/vendor", "0x8086");
    card.file("sys/devices/pci0000:00/0000:00:04.0/device", "0x56a0");
    card.file("sys/devices/pci0000:00/0000:00:04.0/class", "0x030000");
    card.file("sys/devices/pci0000:00/0000:00:04.0/power/runtime_status", "suspended");
    card.link("sys/bus/pci/devices/0000:00:04.0", "../../../devices/pci0000:00/0000:00:04.0");
    card.link("sys/devices/pci0000:00/0000:00:04.0/driver", "../../../bus/pci/drivers/xe");
    card.knows(answered("level_zero_sysman", gib(12), gib(11), kBefore));
    card.knows(answered("drm", gib(12), gib(11), kBefore));
    card.scan(2);
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.started.size(), 1u);
    EXPECT_EQ(card.started.front().first.api, "drm");
}

TEST(LiveMemory, IsNotReadByCudaBecauseAContextUsesMemory) {
    Bench card{"10de", "030200", "nvidia"};
    card.knows(answered("cuda", gib(80), gib(79), kBefore));
    card.scan();
    ASSERT_TRUE(card.read());
    EXPECT_TRUE(card.started.empty());
    EXPECT_EQ(card.only_answer().source, "report");
}

TEST(LiveMemory, NeverWakesASleepingGpu) {
    AnNvidiaCard card;
    card.file(kDevice + "power/runtime_status", "suspended");
    ASSERT_TRUE(card.read());
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.free, gib(79));
    EXPECT_EQ(memory.free_at, kBefore);
    EXPECT_EQ(memory.source, "report");
    ASSERT_EQ(memory.reasons.size(), 1u);
    EXPECT_EQ(memory.reasons.front().code, "asleep");
    EXPECT_EQ(memory.reasons.front().detail.at("device"), Value{kId});
    EXPECT_TRUE(card.started.empty());
}

TEST(LiveMemory, WakesAGpuWhenThatIsAllowed) {
    AnNvidiaCard card;
    card.file(kDevice + "power/runtime_status", "suspended");
    ASSERT_TRUE(card.read(true));
    EXPECT_EQ(card.started.size(), 1u);
}

TEST(LiveMemory, KeepsTheLastValueAfterTheGpuFellAsleep) {
    AnNvidiaCard card;
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.started.size(), 1u);
    card.started.front().second(answered("nvml", gib(80), gib(30), kNow));
    card.file(kDevice + "power/runtime_status", "suspended");
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.answers.size(), 2u);
    EXPECT_EQ(card.answers.back().free, gib(30));
    EXPECT_EQ(card.answers.back().free_at, kNow);
    EXPECT_EQ(card.answers.back().source, "report");
}

TEST(LiveMemory, SharesOneProbeBetweenCallers) {
    AnNvidiaCard card;
    for (std::size_t i = 0; i < LiveMemoryReader::kMaxWaiting; ++i)
        ASSERT_TRUE(card.read());
    const auto refused = card.read();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::TooManyRequests);
    ASSERT_EQ(card.started.size(), 1u);
    card.started.front().second(answered("nvml", gib(80), gib(30), kNow));
    EXPECT_EQ(card.answers.size(), LiveMemoryReader::kMaxWaiting);
    ASSERT_TRUE(card.read());
    EXPECT_EQ(card.started.size(), 2u);
}

TEST(LiveMemory, OfACrashingDriverIsTheLastKnownValueWithAReason) {
    AnNvidiaCard card;
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.started.size(), 1u);
    card.started.front().second(
        ProbeResult{.api = "nvml", .outcome = Outcome::Crashed, .signal = 11, .at = kNow});
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.free, gib(79));
    EXPECT_EQ(memory.source, "report");
    ASSERT_FALSE(memory.reasons.empty());
    EXPECT_EQ(memory.reasons.front().code, "driver-crashed");
}

TEST(LiveMemory, OfADriverThatClaimsNonsenseIsTheLastKnown) {
    AnNvidiaCard card;
    ASSERT_TRUE(card.read());
    ASSERT_EQ(card.started.size(), 1u);
    card.started.front().second(answered("nvml", gib(80), gib(90), kNow));
    EXPECT_EQ(card.only_answer().free_at, kBefore);
}

TEST(LiveMemory, OfAGpuWithoutAnyDriverIsUnknown) {
    Bench card{"10de", "030200", "nvidia"};
    card.scan();
    ASSERT_TRUE(card.read(true));
    const auto memory = card.only_answer();
    EXPECT_EQ(memory.free, std::nullopt);
    EXPECT_EQ(memory.source, "report");
    EXPECT_TRUE(card.started.empty());
}

TEST(LiveMemory, OfACapturedMachineIsTheRecordedValue) {
    const auto loop = SystemLoop::create().value();
    SpawnLauncher launcher{"/no/such/worker", ""};
    const SystemClock clock;
    auto source = replayed_machine(GPUPROBE_SOURCE_DIR "/tests/data/machines/nvidia-h200-1");
    ASSERT_TRUE(source) << source.error().text;
    const auto engine = Engine::create(std::move(source).value(), *loop, launcher, clock, {});
    engine->start();
    const auto before = engine->report();
    std::optional<LiveMemory> memory;
    const auto keep = [&memory](const LiveMemory& answer) { memory = answer; };
    ASSERT_TRUE(engine->read_memory(before.gpus.at(0).id, false, keep));
    EXPECT_EQ(memory, last_known(before.gpus.at(0).memory));
    EXPECT_EQ(engine->report(), before);
    const auto refused = engine->read_memory("pci:0000:77:00.0", false, keep);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::UnknownDevice);
}

}  // namespace live_memory_test
}  // namespace gpuprobe::engine
