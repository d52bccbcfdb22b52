// SPDX-License-Identifier: Apache-2.0
#include "watch/watcher.h"

#include <string>

#include <gtest/gtest.h>

#include "support/memory_files.h"

namespace gpuprobe::watch {
namespace watcher_test {

using ::gpuprobe::support::MemoryFiles;
using std::chrono::seconds;

constexpr pid_t kRoot = 50;

Gpu gpu(const std::string& id,
        const std::string& vendor,
        const std::string& driver,
        PciAddress at) {
    Gpu gpu{.id = id, .vendor = vendor, .name = "A " + vendor};
    gpu.pci = PciInfo{.address = at};
    gpu.driver.name = driver;
    return gpu;
}

/// Two NVIDIA GPUs, an AMD GPU with KFD, an Intel GPU in the processor, a GPU of a board, a GPU
/// without figures, and an accelerator.
Report machine() {
    Report report;
    auto& gpus = report.gpus;
    for (const std::uint8_t bus : {std::uint8_t{1}, std::uint8_t{2}}) {
        gpus.push_back(gpu("nvidia-" + std::to_string(bus), "nvidia", "nvidia", {.bus = bus}));
        gpus.back().nodes.push_back({.path = "/dev/nvidia" + std::to_string(bus - 1)});
    }
    gpus.push_back(gpu("amd", "amd", "amdgpu", {.bus = 3}));
    gpus.back().identity.drm.render = "/dev/dri/renderD128";
    gpus.back().identity.kfd_node = 1;
    gpus.push_back(gpu("intel", "intel", "i915", {.device = 2}));
    gpus.back().identity.drm.render = "/dev/dri/renderD129";
    gpus.back().memory.kind = MemoryKind::Unified;
    Gpu board{
        .id = "board", .vendor = "arm", .identity = {.drm = {.render = "/dev/dri/renderD130"}}};
    board.memory.kind = MemoryKind::Unified;
    gpus.push_back(board);
    gpus.push_back(gpu("old", "nvidia", "nouveau", {.bus = 9}));
    gpus.back().identity.drm.render = "/dev/dri/renderD131";
    report.accelerators.push_back({.id = "npu", .nodes = {{.path = "/dev/accel/accel0"}}});
    return report;
}

/// A machine with the root process, and files that processes have open.
class MachineFixture {
public:
    MachineFixture() { add_process(kRoot, 1); }
    void add_process(pid_t pid, pid_t parent) {
        std::string stat = std::to_string(pid) + " (p) S " + std::to_string(parent);
        for (int word = 2; word < 19; ++word)
            stat += " 0";
        files.write("/proc/" + std::to_string(pid) + "/stat", stat + " 100 0\n");
        open(pid, 0, "/dev/null");
    }
    void open(pid_t pid,
              int number,
              const std::string& path,
              const std::string& info = "pos:\t0\n") {
        const auto folder = "/proc/" + std::to_string(pid);
        files.link(folder + "/fd/" + std::to_string(number), path);
        files.write(folder + "/fdinfo/" + std::to_string(number), info);
    }
    void map(pid_t pid, const std::vector<std::string>& paths) {
        std::string text = "55d0c8a00000-55d0c8a01000 r--p 00000000 fe:01 1 [heap]\n";
        for (const auto& path : paths)
            text +=
                "7f0000000000-7f0000001000 r--p 00000000 fe:01 1                  " + path + "\n";
        files.write("/proc/" + std::to_string(pid) + "/maps", text);
    }
    std::vector<DeviceUse> look(MonotonicTime now = {}) { return watcher.look(now); }

    static MemoryFiles topology() {
        MemoryFiles files;
        files.write("/sys/class/kfd/kfd/topology/nodes/0/gpu_id", "0\n");
        files.write("/sys/class/kfd/kfd/topology/nodes/1/gpu_id", "51234\n");
        return files;
    }

    MemoryFiles files = topology();
    Report report = machine();
    Watcher watcher{files, report, kRoot};
};

std::string amdgpu(int id, const std::string& vram) {
    return "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t" + std::to_string(id) +
           "\ndrm-resident-vram:\t" + vram + "\ndrm-resident-gtt:\t5 MiB\n";
}

ProbeResult nvml(std::uint8_t bus, pid_t pid, Value used, bool computes = true) {
    ProbeResult answer{.api = "nvml", .outcome = Outcome::Answered};
    for (const std::uint8_t each : {std::uint8_t{1}, std::uint8_t{2}}) {
        DeviceFacts facts{.pci = PciAddress{.bus = each}};
        facts.extra["processes"] = Value::Array{};
        Value entry;
        entry["pid"] = pid;
        entry["memory_used"] = used;
        entry["computes"] = computes;
        if (each == bus)
            facts.extra["processes"].push_back(entry);
        answer.devices.push_back(facts);
    }
    return answer;
}

using Uses = std::vector<DeviceUse>;
using Doubts = std::set<Doubt>;

TEST(Watcher, SeesNothingWhereNothingIsOpen) {
    MachineFixture fixture;
    EXPECT_EQ(fixture.look(), Uses{});
    fixture.watcher.finish();
    EXPECT_EQ(fixture.watcher.most(), Uses{});
    EXPECT_EQ(fixture.watcher.doubts(), Doubts{});
    EXPECT_TRUE(fixture.watcher.sees_root());
}

TEST(Watcher, KnowsWhatWasLoadedWithoutADevice) {
    MachineFixture fixture;
    for (int look = 0; look < 20; ++look)
        (void)fixture.look(std::chrono::milliseconds{look});
    EXPECT_EQ(fixture.watcher.loaded(), std::set<Api>{});
    fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/usr/lib/libcudart.so.13",
                        "/usr/lib/libze_intel_gpu.so.1"});
    EXPECT_EQ(fixture.look(seconds{2}), Uses{});
    EXPECT_EQ(fixture.watcher.loaded(), std::set<Api>{Api::Cuda});
}

TEST(Watcher, CountsAFileThatIsOpenTwiceOnce) {
    MachineFixture fixture;
    fixture.open(kRoot, 3, "/dev/dri/renderD128", amdgpu(7, "700 MiB"));
    fixture.open(kRoot, 4, "/dev/dri/renderD128", amdgpu(7, "700 MiB"));
    fixture.open(kRoot, 5, "/dev/dri/renderD128", amdgpu(8, "300 MiB"));
    fixture.add_process(51, kRoot);
    fixture.open(51, 3, "/dev/dri/renderD128", amdgpu(7, "700 MiB"));
    fixture.map(kRoot, {"/usr/lib/x86_64-linux-gnu/libvulkan.so.1.3.239", "/dev/dri/renderD128"});
    EXPECT_EQ(fixture.look(),
              (Uses{{.device = "amd", .memory = mib(1000), .apis = {"vulkan"}, .processes = 1}}));
    EXPECT_EQ(fixture.watcher.doubts(), Doubts{});
}

TEST(Watcher, DoesNotCountADeviceThatWasOnlyListed) {
    MachineFixture fixture;
    fixture.open(kRoot, 3, "/dev/dri/renderD128", amdgpu(7, "12 KiB").substr(0, 90));
    fixture.open(kRoot, 4, "/dev/dri/renderD129",
                 "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t2\n"
                 "drm-resident-system0:\t0\ndrm-engine-render:\t0 ns\n");
    for (int second = 0; second < 9; ++second)
        EXPECT_EQ(fixture.look(seconds{second}), Uses{});
    EXPECT_EQ(fixture.watcher.doubts(), Doubts{});
}

TEST(Watcher, CountsTheHostsMemoryWhereAGpuHasNoOther) {
    MachineFixture fixture;
    fixture.open(kRoot, 3, "/dev/dri/renderD129",
                 "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\ndrm-client-id:\t2\n"
                 "drm-resident-system0:\t64 MiB\ndrm-engine-render:\t5 ns\n");
    fixture.open(kRoot, 4, "/dev/dri/renderD130",
                 "drm-driver:\tpanfrost\ndrm-client-id:\t2\ndrm-resident-memory:\t8 MiB\n");
    fixture.open(kRoot, 5, "/dev/dri/renderD128", amdgpu(7, "2 MiB"));
    fixture.map(kRoot, {"/opt/libze_loader.so.1.20", "/opt/libOpenCL.so.1"});
    EXPECT_EQ(fixture.look(),
              (Uses{{.device = "amd", .memory = mib(2), .apis = {"opencl"}, .processes = 1},
                    {.device = "board", .memory = mib(8), .apis = {"opencl"}, .processes = 1},
                    {.device = "intel",
                     .memory = mib(64),
                     .apis = {"level_zero", "opencl"},
                     .processes = 1}}));
}

TEST(Watcher, BelievesWorkWithoutFiguresOfMemory) {
    MachineFixture fixture;
    fixture.open(kRoot, 4, "/dev/dri/renderD130",
                 "drm-driver:\tmsm\ndrm-client-id:\t2\ndrm-engine-gpu:\t77 ns\n");
    EXPECT_EQ(fixture.look(), (Uses{{.device = "board", .processes = 1}}));
}

TEST(Watcher, DoubtsADriverThatTellsNothingOnlyWhenItsDeviceIsHeld) {
    MachineFixture fixture;
    fixture.open(kRoot, 3, "/dev/dri/renderD131", "drm-driver:\tnouveau\ndrm-client-id:\t4\n");
    EXPECT_EQ(fixture.look(seconds{10}), Uses{});
    EXPECT_EQ(fixture.watcher.doubts(), Doubts{});
    EXPECT_EQ(fixture.look(seconds{11}), Uses{});
    EXPECT_EQ(fixture.watcher.doubts(), Doubts{Doubt::NodeOpen});
}

TEST(Watcher, TakesKfdsFigureForAProcessThatHasItOpen) {
    MachineFixture fixture;
    fixture.files.write("/sys/class/kfd/kfd/proc/50/vram_51234", "7340032000\n");
    fixture.files.write("/sys/class/kfd/kfd/proc/50/sdma_51234", "12\n");
    fixture.files.write("/sys/class/kfd/kfd/proc/50/vram_99", "7340032000\n");
    EXPECT_EQ(fixture.look(), Uses{}) << "in a container the number is another process's";
    fixture.open(kRoot, 3, "/dev/kfd");
    fixture.open(kRoot, 4, "/dev/dri/renderD128", amdgpu(7, "700 MiB"));
    fixture.map(kRoot, {"/opt/rocm/lib/libamdhip64.so.7.0.1", "/usr/lib/libvulkan.so.1"});
    EXPECT_EQ(fixture.look(),
              (Uses{{.device = "amd", .memory = mib(7000), .apis = {"hip"}, .processes = 1}}));
}

TEST(Watcher, BelievesNvmlAboutAProcessThatHasANodeOpen) {
    MachineFixture fixture;
    fixture.watcher.add_nvml(nvml(2, kRoot, 5), seconds{0});
    EXPECT_EQ(fixture.look(seconds{1}), Uses{}) << "an old driver tells the numbers of the host";
    EXPECT_FALSE(fixture.watcher.wants_nvml());
    fixture.open(kRoot, 3, "/dev/nvidiactl");
    fixture.open(kRoot, 4, "/dev/nvidia0");
    fixture.open(kRoot, 5, "/dev/nvidia1");
    fixture.map(kRoot,
                {"/usr/lib/libcuda.so.580.159.04", "/usr/lib/libvulkan.so.1", "/dev/nvidia-uvm"});
    fixture.watcher.add_nvml(nvml(2, kRoot, 19595788288), seconds{2});
    const Uses used{
        {.device = "nvidia-2", .memory = Bytes{19595788288}, .apis = {"cuda"}, .processes = 1}};
    EXPECT_EQ(fixture.look(seconds{3}), used);
    EXPECT_TRUE(fixture.watcher.wants_nvml());
    fixture.watcher.add_nvml(nvml(2, kRoot, mib(1).count), seconds{4});
    (void)fixture.look(seconds{5});
    EXPECT_EQ(fixture.watcher.most(), used) << "the most that was seen";
}

TEST(Watcher, TellsVulkanFromCudaByTheKindOfContext) {
    MachineFixture fixture;
    fixture.open(kRoot, 4, "/dev/nvidia0");
    fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/usr/lib/libvulkan.so.1"});
    (void)fixture.look(seconds{1});
    fixture.watcher.add_nvml(nvml(1, kRoot, Value{}, false), seconds{2});
    EXPECT_EQ(fixture.look(seconds{3}),
              (Uses{{.device = "nvidia-1", .apis = {"vulkan"}, .processes = 1}}));
}

TEST(Watcher, KnowsAnInstanceOfVulkanFromADevice) {
    MachineFixture fixture;
    fixture.open(kRoot, 4, "/dev/nvidia0");
    fixture.map(kRoot, {"/usr/lib/libvulkan.so.1"});
    EXPECT_EQ(fixture.look(seconds{1}), Uses{});
    fixture.watcher.add_nvml(nvml(1, kRoot, mib(7).count), seconds{2});
    EXPECT_EQ(fixture.look(seconds{3}), Uses{});
    EXPECT_EQ(fixture.watcher.most(), Uses{});
    fixture.watcher.add_nvml(nvml(1, kRoot, mib(20).count), seconds{4});
    EXPECT_EQ(
        fixture.look(seconds{5}),
        (Uses{{.device = "nvidia-1", .memory = mib(20), .apis = {"vulkan"}, .processes = 1}}));
}

TEST(Watcher, SeesACudaContextThatNvmlWasNotAskedAbout) {
    MachineFixture fixture;
    fixture.open(kRoot, 4, "/dev/nvidia0");
    fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/dev/nvidia0", "/dev/nvidiactl"});
    EXPECT_EQ(fixture.look(), Uses{}) << "cuInit alone";
    fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/dev/nvidia0", "/dev/nvidia-uvm"});
    EXPECT_EQ(fixture.look(), (Uses{{.device = "nvidia-1", .apis = {"cuda"}, .processes = 1}}));
    fixture.watcher.finish();
    EXPECT_EQ(fixture.watcher.doubts(), Doubts{});
}

TEST(Watcher, CountsAProcessThatEndedWhileNvmlAnswered) {
    MachineFixture fixture;
    fixture.open(kRoot, 4, "/dev/nvidia0");
    fixture.map(kRoot, {"/usr/lib/libcuda.so.1"});
    (void)fixture.look(seconds{1});
    fixture.watcher.add_nvml(nvml(1, kRoot, mib(600).count), seconds{2});
    EXPECT_EQ(fixture.watcher.most(),
              (Uses{{.device = "nvidia-1", .memory = mib(600), .apis = {"cuda"}, .processes = 1}}));
}

TEST(Watcher, DoubtsWhereNvmlWasNeverAskedWhileADeviceWasOpen) {
    for (const bool is_asked : {true, false}) {
        MachineFixture fixture;
        fixture.open(kRoot, 4, "/dev/nvidia0");
        (void)fixture.look(seconds{5});
        fixture.watcher.add_nvml(nvml(1, 99, mib(600).count), seconds{is_asked ? 6 : 4});
        fixture.watcher.finish();
        EXPECT_EQ(fixture.watcher.doubts(), is_asked ? Doubts{} : Doubts{Doubt::EndedTooSoon});
    }
}

TEST(Watcher, DoubtsWhereNothingWasSeenAndLooksWereTooFarApart) {
    for (const bool has_context : {true, false})
        for (const bool is_late : {true, false}) {
            MachineFixture fixture;
            fixture.open(kRoot, 4, "/dev/nvidia0");
            fixture.map(
                kRoot, {"/usr/lib/libcuda.so.1", has_context ? "/dev/nvidia-uvm" : "/dev/nvidia0"});
            (void)fixture.look(seconds{1});
            fixture.watcher.add_nvml(nvml(1, 99, mib(600).count), seconds{1});
            fixture.watcher.finish(MonotonicTime{seconds{1}} + Watcher::kLongestGap +
                                   Duration{is_late ? 1 : 0});
            const bool is_doubted = is_late && !has_context;
            EXPECT_EQ(fixture.watcher.doubts(), is_doubted ? Doubts{Doubt::SeldomSeen} : Doubts{});
        }
}

TEST(Watcher, DoubtsWhereNothingWasSeenAndALookWasLate) {
    for (const bool was_late : {true, false}) {
        MachineFixture fixture;
        (void)fixture.look(seconds{1});
        fixture.watcher.finish(seconds{9}, was_late);
        EXPECT_EQ(fixture.watcher.doubts(), was_late ? Doubts{Doubt::SeldomSeen} : Doubts{});
    }
}

/// While a process creates a context, NVML lists the process with only a few MiB.
TEST(Watcher, CountsAContextThatNvmlListsWithLittleMemory) {
    for (const bool has_context : {true, false}) {
        MachineFixture fixture;
        fixture.open(kRoot, 4, "/dev/nvidia0");
        fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/dev/nvidiactl"});
        (void)fixture.look(seconds{1});
        fixture.watcher.add_nvml(nvml(1, kRoot, mib(7).count), seconds{1});
        if (has_context)
            fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/dev/nvidia-uvm"});
        EXPECT_EQ(fixture.look(seconds{1}).size(), has_context ? 1U : 0U);
    }
}

TEST(Watcher, DoubtsWhereNvmlListedLittleMemoryForAMoment) {
    for (const auto later : {seconds{0}, seconds{1}}) {
        MachineFixture fixture;
        fixture.open(kRoot, 4, "/dev/nvidia0");
        (void)fixture.look(seconds{1});
        fixture.watcher.add_nvml(nvml(1, kRoot, mib(7).count), seconds{1});
        fixture.watcher.add_nvml(nvml(1, kRoot, mib(7).count), seconds{1} + later);
        fixture.watcher.finish();
        EXPECT_EQ(fixture.watcher.doubts(),
                  later == seconds{1} ? Doubts{} : Doubts{Doubt::EndedTooSoon});
    }
}

TEST(Watcher, AsksAboutAContextThatIsBeingMade) {
    MachineFixture fixture;
    fixture.open(kRoot, 4, "/dev/nvidia0");
    fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/dev/nvidiactl"});
    (void)fixture.look(seconds{1});
    EXPECT_EQ(fixture.watcher.unreported_since(), std::nullopt);
    EXPECT_TRUE(fixture.watcher.may_miss_context());
    fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/dev/nvidiactl", "/dev/nvidiactl"});
    (void)fixture.look(seconds{2});
    EXPECT_EQ(fixture.watcher.unreported_since(), seconds{2});
    fixture.watcher.add_nvml(nvml(1, kRoot, mib(600).count), seconds{2});
    EXPECT_FALSE(fixture.watcher.may_miss_context());
}

TEST(Watcher, DoubtsWhereAContextWasGoneBeforeNvmlToldOnWhichOfSeveralItIs) {
    for (const bool is_named : {true, false}) {
        MachineFixture fixture;
        fixture.open(kRoot, 4, "/dev/nvidia0");
        fixture.open(kRoot, 5, "/dev/nvidia1");
        (void)fixture.look(seconds{1});
        fixture.watcher.add_nvml(nvml(1, 99, mib(600).count), seconds{2});
        fixture.map(kRoot, {"/usr/lib/libcuda.so.1", "/dev/nvidia-uvm"});
        EXPECT_EQ(fixture.watcher.unreported_since(), std::nullopt);
        EXPECT_EQ(fixture.look(seconds{3}), Uses{});
        EXPECT_EQ(fixture.watcher.unreported_since(), seconds{3});
        fixture.watcher.add_nvml(nvml(1, is_named ? kRoot : 99, mib(600).count), seconds{4});
        fixture.watcher.finish();
        EXPECT_EQ(fixture.watcher.doubts(), is_named ? Doubts{} : Doubts{Doubt::EndedTooSoon});
        EXPECT_EQ(fixture.watcher.most().size(), is_named ? 1U : 0U);
    }
}

TEST(Watcher, TakesNoAnswerOfNvmlThatIsNone) {
    MachineFixture fixture;
    fixture.open(kRoot, 4, "/dev/nvidia0");
    (void)fixture.look(seconds{1});
    auto answer = nvml(1, kRoot, mib(600).count);
    for (auto& device : answer.devices) {
        device.extra["processes"].push_back(Value{"x"});
        Value entry;
        entry["pid"] = Value{-4};
        device.extra["processes"].push_back(entry);
        entry["pid"] = Value{99999999999LL};
        device.extra["processes"].push_back(entry);
    }
    answer.outcome = Outcome::Crashed;
    fixture.watcher.add_nvml(answer, seconds{2});
    EXPECT_EQ(fixture.look(seconds{3}), Uses{});
    answer.outcome = Outcome::Answered;
    fixture.watcher.add_nvml(answer, seconds{3});
    EXPECT_EQ(fixture.look(seconds{4}).size(), 1U);
}

TEST(Watcher, DoubtsAProcessThatMayNotBeLookedInto) {
    class Closed final : public FileSystem {
    public:
        explicit Closed(const MemoryFiles& files) : files_{files} {}
        Result<std::string> read(std::string_view path, Bytes limit) const override {
            return files_.read(path, limit);
        }
        Result<std::vector<std::string>> list(std::string_view path) const override {
            if (path.ends_with("/fd"))
                return Error{ErrorCode::PermissionDenied,
                             std::string{path} + ": Permission denied"};
            return files_.list(path);
        }
        Result<std::string> link_target(std::string_view path) const override {
            return files_.link_target(path);
        }
        Result<std::string> real_path(std::string_view path) const override {
            return files_.real_path(path);
        }
        Result<FileStatus> status(std::string_view path) const override {
            return files_.status(path);
        }

    private:
        const MemoryFiles& files_;
    };
    MachineFixture fixture;
    const Closed closed{fixture.files};
    Watcher watcher{closed, fixture.report, kRoot};
    EXPECT_EQ(watcher.look({}), Uses{});
    EXPECT_FALSE(watcher.sees_root());
    EXPECT_TRUE(watcher.wants_nvml());
    EXPECT_EQ(watcher.doubts(), Doubts{Doubt::NotReadable});
    watcher.add_nvml(nvml(1, kRoot, mib(600).count), seconds{2});
    EXPECT_EQ(watcher.look(seconds{3}),
              (Uses{{.device = "nvidia-1", .memory = mib(600), .processes = 1}}));
}

}  // namespace watcher_test
}  // namespace gpuprobe::watch
