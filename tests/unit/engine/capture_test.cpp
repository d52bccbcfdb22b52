// SPDX-License-Identifier: Apache-2.0
#include "engine/capture.h"

#include <filesystem>

#include "engine/redaction.h"
#include "report/assemble.h"
#include "support/temporary_folder.h"

namespace gpuprobe::engine {
namespace capture_test {

using support::TemporaryFolder;

MachineSource a_machine(const TemporaryFolder& root) {
    const std::string device = "sys/devices/pci0000:00/0000:00:06.0/";
    root.write(device + "vendor", "0x10de\n");
    root.write(device + "device", "0x2335\n");
    root.write(device + "class", "0x030200\n");
    root.write(device + "config", "not to be read");
    root.link("sys/bus/pci/devices/0000:00:06.0", "../../../devices/pci0000:00/0000:00:06.0");
    return MachineSource{.files = std::make_shared<RootedFiles>(root.path()),
                         .nodes = std::make_shared<RecordedNodes>(),
                         .host = Host{.arch = "x86_64"}};
}

const ProbeResult kProbe{
    .api = "vulkan",
    .driver = "/usr/share/vulkan/icd.d/nvidia_icd.json",
    .outcome = Outcome::Answered,
    .devices = {DeviceFacts{.name = "NVIDIA H200", .pci = PciAddress{.device = 6}}},
    .at = WallTime{Duration{1795227500330250}}};

Report report_of(const MachineSource& source) {
    const auto machine = scan_machine(*source.files, *source.nodes, *source.host);
    return assemble(machine, source.recorded.value_or(std::vector{kProbe}), ReportContext{});
}

TEST(Capture, ReplaysToTheSameReport) {
    const TemporaryFolder root;
    const TemporaryFolder target;
    const auto live = a_machine(root);
    for (const bool redact : {false, true}) {
        const auto folder = target.path() + (redact ? "/redacted" : "/plain");
        Redaction mask;
        const DriverVariables variables{{kProbe.driver, "VK_DRIVER_FILES"}};
        ASSERT_TRUE(
            write_capture(folder, live, {kProbe}, variables, WallTime{}, redact ? &mask : nullptr));
        const auto replayed = replayed_machine(folder);
        ASSERT_TRUE(replayed) << replayed.error().text;
        EXPECT_EQ(report_of(*replayed), report_of(live));
        EXPECT_EQ(replayed->variables, variables);
    }
    EXPECT_EQ(report_of(live).gpus.size(), 1u);
}

TEST(Capture, ContainsOnlyFilesThatTheScanReads) {
    const TemporaryFolder root;
    const TemporaryFolder target;
    const auto folder = target.path() + "/capture";
    ASSERT_TRUE(write_capture(folder, a_machine(root), {}, {}, WallTime{}, nullptr));
    const std::string device = folder + "/root/sys/devices/pci0000:00/0000:00:06.0/";
    EXPECT_TRUE(std::filesystem::exists(device + "vendor"));
    EXPECT_FALSE(std::filesystem::exists(device + "config"));
    EXPECT_TRUE(std::filesystem::is_symlink(folder + "/root/sys/bus/pci/devices/0000:00:06.0"));
}

TEST(Capture, WritesNothingOutsideItsFolder) {
    const TemporaryFolder root;
    const TemporaryFolder target;
    auto hostile = a_machine(root);
    hostile.host->arch = "../../../../outside/x86_64";
    root.link("sys/devices/pci0000:00/0000:00:06.0/driver", "../../../bus/pci/drivers/nvidia");
    root.write("proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX x86_64  580.1.1\n");
    root.write("evil.so", "");
    root.link("outside/x86_64-linux-gnu/libcuda.so.1", "/evil.so");
    root.write("usr/lib/empty", "");
    const auto folder = target.path() + "/deep/capture";
    ASSERT_TRUE(write_capture(folder, hostile, {}, {}, WallTime{}, nullptr));
    EXPECT_FALSE(std::filesystem::exists(target.path() + "/deep/outside"));
    EXPECT_FALSE(std::filesystem::exists(target.path() + "/outside"));
    EXPECT_TRUE(std::filesystem::exists(folder + "/root/outside/x86_64-linux-gnu"));
}

TEST(Capture, RefusesAFolderThatHoldsSomething) {
    const TemporaryFolder root;
    const TemporaryFolder target;
    target.write("precious", "data");
    const auto status = write_capture(target.path(), a_machine(root), {}, {}, WallTime{}, nullptr);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().code, ErrorCode::InvalidRequest);
    EXPECT_TRUE(std::filesystem::exists(target.path() + "/precious"));
}

class Replay : public ::testing::Test {
protected:
    [[nodiscard]] std::string problem() const {
        const auto source = replayed_machine(folder_.path());
        return source ? ""
                      : source.error().text.substr(("capture " + folder_.path() + ": ").size());
    }
    TemporaryFolder folder_ = {};
};

TEST_F(Replay, NeedsACaptureFile) {
    EXPECT_EQ(problem(), "not a capture: capture.json is missing");
}

TEST_F(Replay, NamesTheFileAtFault) {
    folder_.write("capture.json", R"({"schema":1,"host":{}})");
    EXPECT_EQ(problem(), "");
    folder_.write("probes/cuda.json", R"({"outcome":"perhaps"})");
    EXPECT_EQ(problem().substr(0, 18), "/probes/cuda.json:");
    folder_.write("probes/cuda.json", "{");
    EXPECT_EQ(problem(), "/probes/cuda.json: not JSON at byte 2");
}

TEST_F(Replay, TakesMissingHostFactsAsUnknownAndWrongOnesAsAnError) {
    folder_.write("capture.json",
                  R"({"schema":1,"host":{"arch":"aarch64","libc":{"name":"musl"}}})");
    const auto source = replayed_machine(folder_.path());
    ASSERT_TRUE(source) << source.error().text;
    EXPECT_EQ(source->host->arch, "aarch64");
    EXPECT_EQ(source->host->libc.name, "musl");
    EXPECT_EQ(source->host->kernel, std::nullopt);
    folder_.write("capture.json", R"({"schema":1,"host":{"cpu":{"cores":"many"}}})");
    EXPECT_EQ(problem(),
              "/capture.json: host: cpu.cores: expected non-negative integer, found string");
}

TEST_F(Replay, ScrubsHostFactsAndDropsUnknownOnes) {
    std::string host = R"({"os":"\u001b[2J","cpu":{"features":["\u009bm"]})";
    for (int i = 0; i < 50'000; ++i)  // quadratic time would be too long
        host += ",\"unknown" + std::to_string(i) + "\":0";
    folder_.write("capture.json", R"({"schema":1,"host":)" + host + "}}");
    const auto source = replayed_machine(folder_.path());
    ASSERT_TRUE(source) << source.error().text;
    EXPECT_EQ(source->host->os, "\xEF\xBF\xBD[2J");
    EXPECT_EQ(source->host->cpu.features, std::vector<std::string>{"\xEF\xBF\xBDm"});
}

TEST_F(Replay, LeavesTheCaptureThroughNoLink) {
    folder_.write("capture.json", R"({"schema":1,"host":{}})");
    folder_.write("inside/etc/hostname", "captured\n");
    for (const auto* target : {"/", "../../../../..", "/proc/self/root"}) {
        std::filesystem::remove(folder_.path() + "/root");
        folder_.link("root", target);
        const auto source = replayed_machine(folder_.path());
        EXPECT_TRUE(!source || !source->files->exists("/proc/version")) << target;
    }
    std::filesystem::remove(folder_.path() + "/root");
    folder_.link("root", "/inside");
    EXPECT_EQ(replayed_machine(folder_.path())->files->line("/etc/hostname"), "captured");
}

TEST_F(Replay, RefusesAnotherSchema) {
    folder_.write("capture.json", R"({"schema":2,"host":{}})");
    EXPECT_EQ(problem(),
              "/capture.json: schema is not 1, so the capture is damaged or from a newer version");
}

TEST_F(Replay, SurvivesACutOfEachFileAtEachByte) {
    const std::string capture = R"({"schema":1,"host":{"arch":"x86_64","wsl":false}})";
    const std::string nodes =
        R"({"/dev/nvidia0":{"major":195,"minor":0,"mode":438,"group":"root","accessible":true}})";
    const std::string probe =
        R"({"outcome":"answered","devices":[{"index":0,"pci":"0000:00:06.0"}],"note":null})";
    folder_.write("capture.json", capture);
    folder_.write("nodes.json", nodes);
    folder_.write("probes/cuda.json", probe);
    ASSERT_EQ(problem(), "");
    for (const auto& [name, text] : std::map<std::string, std::string>{
             {"capture.json", capture}, {"nodes.json", nodes}, {"probes/cuda.json", probe}}) {
        for (std::size_t length = 0; length < text.size(); ++length) {
            folder_.write(name, text.substr(0, length));
            EXPECT_NE(problem(), "") << name << " cut at " << length;
        }
        folder_.write(name, text);
    }
}

}  // namespace capture_test
}  // namespace gpuprobe::engine
