// SPDX-License-Identifier: Apache-2.0
#include "calls/surroundings.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/value.h"
#include "report/outcome.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace surroundings_test {

const Caller kSomebody{.uid = 1000};

Report container_without_gpu(ReportSource source) {
    Report report{.source = source};
    report.host.container = "docker";
    return report;
}

std::string evidence_in(const std::vector<Finding>& findings, std::string_view id) {
    const auto found = std::ranges::find(findings, id, &Finding::id);
    return found == findings.end() ? "" : json_line(found->evidence);
}

TEST(FindingsFor, LookAtTheMachineAroundTheDaemon) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    folder.write("etc/cdi/nvidia.yaml", "cdiVersion: 0.6.0\n");
    const auto live = findings_for(kSomebody, {}, container_without_gpu(ReportSource::Live), files);
    EXPECT_NE(evidence_in(live, "container-without-gpu").find("/etc/cdi/nvidia.yaml"),
              std::string::npos);
    const auto replay =
        findings_for(kSomebody, {}, container_without_gpu(ReportSource::Replay), files);
    EXPECT_EQ(evidence_in(replay, "container-without-gpu").find("nvidia.yaml"), std::string::npos);
    EXPECT_NE(evidence_in(replay, "container-without-gpu"), "");
}

TEST(FindingsFor, HaveTheSurroundingsOfACaptureFromTheCapture) {
    const auto report = container_without_gpu(ReportSource::Replay);
    const Surroundings captured{.cdi_specs = {"/etc/cdi/captured.yaml"}};
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    const auto found = findings_for(kSomebody, {}, report, files, captured);
    EXPECT_NE(evidence_in(found, "container-without-gpu").find("/etc/cdi/captured.yaml"),
              std::string::npos);
    const auto live =
        findings_for(kSomebody, {}, container_without_gpu(ReportSource::Live), files, captured);
    EXPECT_EQ(evidence_in(live, "container-without-gpu").find("captured"), std::string::npos);
}

TEST(FindingsFor, UseTheEnvironmentOfTheCaller) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    const auto report = container_without_gpu(ReportSource::Live);
    const auto silent = findings_for(kSomebody, {}, report, files);
    const auto with_variable =
        findings_for(kSomebody, {{"VK_ICD_FILENAMES", "/nothing.json"}}, report, files);
    EXPECT_NE(json_line(to_value(silent)), json_line(to_value(with_variable)));
    const auto other = findings_for(kSomebody, {{"EDITOR", "vi"}}, report, files);
    EXPECT_EQ(json_line(to_value(silent)), json_line(to_value(other)));
}

Report closed_node() {
    Report report{.source = ReportSource::Live};
    report.gpus.push_back({.id = "pci:0000:03:00.0", .vendor = "amd"});
    report.gpus.front().findings.push_back(
        because("no-permission", {{"node", "/dev/dri/renderD128"}, {"group", "render"}}));
    return report;
}

std::string fix_for(const Caller& caller, const FileSystem& files) {
    const auto findings = findings_for(caller, {}, closed_node(), files);
    const auto found = std::ranges::find(findings, "no-permission", &Finding::id);
    return found == findings.end() ? "" : found->fix.value_or("");
}

TEST(FindingsFor, KnowTheGroupsThatALoginLacks) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    folder.write("etc/passwd", "root:x:0:0::/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\n");
    folder.write("etc/group", "render:x:105:anna,otto\nplugdev:x:46:anna\nusers:x:100:\n");
    const auto is_old = [&](Caller caller) {
        return fix_for(caller, files).find("log out and in again") != std::string::npos;
    };
    EXPECT_TRUE(is_old({.uid = 1000, .groups = {{1000, 46}}}));
    EXPECT_FALSE(is_old({.uid = 1000, .groups = {{1000, 46, 105}}})) << "it has the group";
    EXPECT_TRUE(is_old({.uid = 1000, .groups = {{1000}}}));
    EXPECT_FALSE(is_old({.uid = 1000})) << "nobody knows its groups";
    EXPECT_FALSE(is_old({.uid = 1001, .groups = {{1001, 46}}})) << "uid 1001 has no account here";
}

TEST(FindingsFor, LeaveItOpenWhereNoneOfTheGroupsIsThere) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    folder.write("etc/passwd", "anna:x:1000:1000::/home/anna:/bin/sh\n");
    folder.write("etc/group", "anna:x:1000:\nrender:x:105:anna\n");
    const auto first = fix_for({.uid = 1000, .groups = {{1000}}}, files);
    EXPECT_NE(first.find("this session has none of your account's groups"), std::string::npos)
        << first;
    EXPECT_NE(first.find("a container"), std::string::npos) << first;
    folder.write("etc/group", "anna:x:1000:\nusers:x:100:anna\nrender:x:105:anna\n");
    const auto further = fix_for({.uid = 1000, .groups = {{1000, 100}}}, files);
    EXPECT_NE(further.find("this session started before you joined"), std::string::npos) << further;
    EXPECT_EQ(further.find("a container"), std::string::npos) << further;
}

TEST(FindingsFor, ReadNoMoreOfSpecificationsThanAMebibyte) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    Report report{.source = ReportSource::Live};
    report.gpus.push_back({.id = "pci:0000:03:00.0", .vendor = "nvidia"});
    report.gpus.front().driver = {.name = "nvidia", .version = "580.95.05"};
    const auto is_read = [&] {
        return !evidence_in(findings_for(kSomebody, {}, report, files), "cdi-outdated").empty();
    };
    folder.write("etc/cdi/nvidia.yaml", "/usr/lib/libcuda.so.570.169\n");
    EXPECT_TRUE(is_read());
    for (const auto* earlier : {"a", "b", "c", "d"})
        folder.write(std::string{"etc/cdi/"} + earlier + ".json", std::string(262'144, ' '));
    EXPECT_FALSE(is_read());
    folder.write("etc/cdi/a.json", "{}");
    EXPECT_TRUE(is_read());
}

TEST(FindingsFor, IgnoreOldReasonsForReducedClocks) {
    const RootedFiles files{"/nothing"};
    Report report{.source = ReportSource::Live};
    report.gpus.push_back({.id = "pci:0000:03:00.0", .vendor = "amd"});
    auto& power = report.gpus.front().power;
    power = {.slowdowns = {{"thermal"}}, .slowdowns_at = SystemClock{}.wall()};
    const auto is_hot = [&] {
        return !evidence_in(findings_for(kSomebody, {}, report, files), "slowed-by-heat").empty();
    };
    EXPECT_TRUE(is_hot());
    *power.slowdowns_at -= std::chrono::minutes{4};
    EXPECT_TRUE(is_hot());
    *power.slowdowns_at -= std::chrono::minutes{2};
    EXPECT_FALSE(is_hot());
    report.source = ReportSource::Replay;
    report.created = *power.slowdowns_at;
    EXPECT_TRUE(is_hot()) << "a captured machine is as it was then";
}

/// podman-docker's `docker` is Podman, which has no daemon.
TEST(FindingsFor, TellDockerByItsDaemon) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    Report report{.source = ReportSource::Live};
    report.gpus.push_back({.id = "pci:0000:03:00.0", .vendor = "nvidia"});
    report.gpus.front().driver.name = "nvidia";
    const auto fix = [&] {
        const auto findings = findings_for(kSomebody, {}, report, files);
        const auto found = std::ranges::find(findings, "container-toolkit-missing", &Finding::id);
        return found == findings.end() ? "" : found->fix.value_or("");
    };
    folder.write("usr/bin/docker", "");
    EXPECT_EQ(fix(), "") << "a client alone starts no container here";
    folder.write("usr/bin/podman", "");
    EXPECT_EQ(fix().find("--runtime=docker"), std::string::npos);
    EXPECT_NE(fix().find("nvidia-ctk cdi generate"), std::string::npos);
    folder.write("usr/sbin/dockerd", "");
    EXPECT_NE(fix().find("--runtime=docker"), std::string::npos);
}

TEST(FindingsFor, FindASpecificationOfAnotherDriver) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    Report report{.source = ReportSource::Live};
    report.gpus.push_back({.id = "pci:0000:03:00.0", .vendor = "nvidia"});
    report.gpus.front().driver = {.name = "nvidia", .version = "580.95.05"};
    const auto outdated = [&](const char* library) {
        folder.write("etc/cdi/nvidia.yaml",
                     std::string{"- hostPath: /usr/lib/x86_64-linux-gnu/"} + library + "\n");
        return evidence_in(findings_for(kSomebody, {}, report, files), "cdi-outdated");
    };
    EXPECT_NE(outdated("libcuda.so.570.169").find("570.169"), std::string::npos);
    EXPECT_EQ(outdated("libcuda.so.580.95.05"), "");
    EXPECT_EQ(outdated("libcuda.so.1"), "") << "a link has no version";
}

TEST(FindingsFor, SeeWhetherAFlatpakMayAskTheDaemon) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    Report report{.source = ReportSource::Live};
    report.host.sandbox = "flatpak";
    const auto is_shut = [&](const std::string& info) {
        folder.write(".flatpak-info", info);
        return !evidence_in(findings_for(kSomebody, {}, report, files), "flatpak-without-daemon")
                    .empty();
    };
    EXPECT_TRUE(is_shut("[Application]\nname=org.example.App\n"));
    EXPECT_FALSE(is_shut("[System Bus Policy]\norg.gpuprobe.GpuProbe1=talk\n"));
    EXPECT_TRUE(is_shut("[Session Bus Policy]\norg.gpuprobe.GpuProbe1=talk\n"));
    EXPECT_TRUE(is_shut("[System Bus Policy]\norg.gpuprobe.GpuProbe1=see\n"));
    EXPECT_FALSE(is_shut("[Context]\nsockets=x11;system-bus;\n"));
}

TEST(FindingsFor, LookForProgramsAndForFilesByTheirPath) {
    const support::TemporaryFolder folder;
    const RootedFiles files{folder.path()};
    Report report{.source = ReportSource::Live};
    report.gpus.push_back({.id = "pci:0000:03:00.0", .vendor = "intel"});
    EXPECT_EQ(evidence_in(findings_for(kSomebody, {}, report, files), "nvidia-removed"), "");
    folder.write("lib/udev/rules.d/50-remove-nvidia.rules", "");
    EXPECT_NE(evidence_in(findings_for(kSomebody, {}, report, files), "nvidia-removed"), "");
    report.gpus.front() = {.id = "pci:0000:03:00.0", .vendor = "nvidia"};
    report.gpus.front().driver.name = "nvidia";
    folder.write("usr/local/bin/dockerd", "");
    EXPECT_NE(evidence_in(findings_for(kSomebody, {}, report, files), "container-toolkit-missing"),
              "");
}

}  // namespace surroundings_test
}  // namespace gpuprobe
