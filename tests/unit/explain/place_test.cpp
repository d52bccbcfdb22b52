// SPDX-License-Identifier: Apache-2.0
#include "explain/place.h"

#include <gtest/gtest.h>

#include "unit/explain/one_card.h"

namespace gpuprobe::test {
namespace place_test {

TEST(Examine, NamesThePackageOfTheGpusOwnDriver) {
    const auto fix = [](const char* vendor, const char* driver, const char* distribution) {
        auto report = healthy();
        report.host.os_release = OsRelease{.id = distribution};
        gpu_of(report).vendor = vendor;
        gpu_of(report).driver.name = driver;
        say(report, "opencl", kAbsent, because("driver-missing"));
        return only(examine(report, {}), "opencl-driver-missing").fix.value_or("");
    };
    EXPECT_EQ(fix("nvidia", "nvidia", "debian"), "sudo apt install nvidia-opencl-icd");
    EXPECT_EQ(fix("nvidia", "nouveau", "debian"), "sudo apt install mesa-opencl-icd");
    EXPECT_EQ(fix("amd", "amdgpu", "fedora"), "sudo dnf install mesa-libOpenCL");
    EXPECT_EQ(fix("intel", "xe", "arch"), "sudo pacman -S intel-compute-runtime");
    EXPECT_EQ(fix("virtio", "virtio-pci", "debian"), "");
    EXPECT_EQ(fix("nvidia", "nvidia", "alpine").find("Alpine has no package for NVIDIA's OpenCL"),
              0U);
    EXPECT_EQ(fix("intel", "xe", "unheard-of"),
              "install Intel's OpenCL driver (in Debian: intel-opencl-icd)");
}

TEST(Examine, TakesADistributionsKinForIt) {
    auto report = healthy();
    report.host.os_release = OsRelease{.id = "linuxmint", .id_like = {"ubuntu", "debian"}};
    say(report, "vulkan", kAbsent, because("loader-missing"));
    EXPECT_EQ(only(examine(report, {}), "vulkan-loader-missing").fix,
              "sudo apt install libvulkan1");
    EXPECT_EQ(only(examine(report, {.is_root = true}), "vulkan-loader-missing").fix,
              "apt install libvulkan1");
}

/// Proxmox uses LXC without Incus.
TEST(Examine, KnowsProxmoxByItsKernel) {
    auto report = healthy();
    report.host.container = "lxc";
    find(report, because("uvm-missing", {{"node", "/dev/nvidia-uvm"}}));
    gpu_of(report).apis["cuda"] = {.outcome = Outcome::Failed};
    const auto fix = [&report](const char* kernel) {
        report.host.kernel = kernel;
        return only(examine(report, {}), "uvm-missing").fix.value_or("");
    };
    EXPECT_NE(fix("6.8.0-60-generic").find("incus config"), std::string::npos);
    EXPECT_NE(fix("6.8.12-4-pve").find("/etc/pve/lxc"), std::string::npos);
    EXPECT_EQ(fix("6.8.12-4-pve").find("incus"), std::string::npos);
}

TEST(Examine, RefersContainerUsersToTheHostForTheNvidiaDriver) {
    auto report = healthy();
    report.host.container = "docker";
    gpu_of(report).driver.name = "nouveau";
    const auto fix = only(examine(report, {}), "nouveau").fix.value_or("");
    EXPECT_EQ(fix.find("apt install"), std::string::npos) << fix;
}

TEST(Examine, TakesAWordOffTheCommandLineAsTheDistributionDoes) {
    auto report = healthy();
    report.host.setup = KernelSetup{.parameters = {{"pci=nomsi"}}};
    report.host.os_release = OsRelease{.id = "debian"};
    EXPECT_NE(only(examine(report, {}), "msi-off").fix->find("remove pci=nomsi from GRUB_"),
              std::string::npos);
    report.host.setup->parameters = {{"pci=nomsi,'x"}};
    EXPECT_EQ(only(examine(report, {}), "msi-off").fix->find("GRUB_"), std::string::npos)
        << "a quote would end the word in a command";
}

/// The group names in a sandbox come from the program that created the sandbox.
TEST(Examine, PutsAGroupIntoACommandAsOneWord) {
    for (const auto* sandbox : {"flatpak", "snap", "toolbox", ""}) {
        auto report = healthy();
        if (*sandbox)
            report.host.sandbox = sandbox;
        const auto fix_for = [&report](const char* group) {
            gpu_of(report).findings = {
                because("no-permission",
                        {{"node", "/dev/dri/renderD128"}, {"group", group}, {"mode", "0660"}})};
            return only(examine(report, {}), "no-permission");
        };
        EXPECT_NE(fix_for("video").fix->find(R"(sudo usermod -aG video "$USER")"),
                  std::string::npos);
        const auto hostile = fix_for("x; touch /tmp/CANARY $(id)");
        constexpr auto kCommand = R"(sudo usermod -aG x\;\ touch\ /tmp/CANARY\ \$\(id\) "$USER")";
        EXPECT_NE(hostile.fix->find(kCommand), std::string::npos) << *hostile.fix;
        for (const auto& command : hostile.commands)
            EXPECT_EQ(command, kCommand);
        const auto option = fix_for("--root=/tmp");
        EXPECT_TRUE(option.commands.empty());
        EXPECT_EQ(option.fix->find("--root"), std::string::npos);
    }
}

TEST(Examine, NamesThePackagesOfTheProcessor) {
    auto report = healthy();
    report.host.os_release = OsRelease{.id = "debian"};
    gpu_of(report).driver.name = "nouveau";
    const auto fix = [&report](std::optional<std::string> arch) {
        report.host.arch = std::move(arch);
        return only(examine(report, {}), "nouveau").fix.value_or("");
    };
    EXPECT_NE(fix("x86_64").find("linux-headers-amd64 nvidia-driver"), std::string::npos);
    EXPECT_NE(fix("aarch64").find("linux-headers-arm64 nvidia-driver"), std::string::npos);
    EXPECT_NE(fix(std::nullopt).find("linux-headers-amd64 nvidia-driver"), std::string::npos);
    EXPECT_EQ(fix("riscv64"), "install NVIDIA's driver");
    report.host.os_release->id = "unheard-of";
    EXPECT_NE(fix("aarch64").find("(in Debian: linux-headers-arm64 nvidia-driver)"),
              std::string::npos);
}

/// On every distribution, Intel's compute runtime is only built for x86-64.
TEST(Examine, NamesNoPackageThatIsMadeForAnotherProcessor) {
    auto report = healthy();
    report.host.os_release = OsRelease{.id = "ubuntu", .version_id = "24.04"};
    auto& gpu = gpu_of(report);
    gpu.vendor = "intel";
    gpu.pci = PciInfo{.vendor_id = "8086", .device_id = "e20b"};
    gpu.apis = {{"level_zero", ApiView{.outcome = Outcome::Absent,
                                       .reasons = {Reason{.code = "loader-missing"}}}}};
    const auto fix = [&report](const char* arch) {
        report.host.arch = arch;
        return only(examine(report, {}), "level-zero-missing").fix.value_or("");
    };
    EXPECT_EQ(fix("x86_64"), "to use Level Zero: sudo apt install libze-intel-gpu1 libze1");
    EXPECT_EQ(fix("aarch64"),
              "to use Level Zero: Level Zero for Intel GPUs is available only for x86_64");
}

/// No distribution has a driver for the GPU of a Tegra.
TEST(Examine, SendsTheOwnerOfATegraToJetsonLinux) {
    auto report = healthy();
    report.host.arch = "aarch64";
    report.host.os_release = OsRelease{.id = "debian"};
    auto& gpu = gpu_of(report);
    gpu.id = "platform:17000000.gpu";
    gpu.driver.name = "nouveau";
    gpu.architecture.cuda_compute_capability = "7.2";
    EXPECT_EQ(case_of(report, "nouveau"), Value{"tegra"});
    EXPECT_NE(only(examine(report, {}), "nouveau").fix.value_or("").find("JetPack"),
              std::string::npos);
    lose_driver(report);
    EXPECT_EQ(case_of(report, "no-driver"), Value{"tegra"});
    report.host.setup = KernelSetup{.installed = {{"nouveau"}}};
    report.runtimes["cuda"].loader = "libcuda.so.1";
    report.host.l4t = "R36";
    EXPECT_EQ(only(examine(report, {}), "no-driver").fix, "sudo modprobe nvgpu");
}

TEST(Examine, SendsToTheHostForANodeThatIsClosedToEveryGroup) {
    const auto shut = [](const char* mode) {
        auto report = healthy();
        report.host.container = "docker";
        judge(report, "cuda",
              because("no-permission",
                      {{"node", "/dev/dri/renderD128"}, {"group", "root"}, {"mode", mode}}));
        return case_of(report, "no-permission");
    };
    EXPECT_EQ(shut("0600"), Value{"closed"});
    EXPECT_EQ(shut("0640"), Value{"closed"});
    EXPECT_EQ(shut("0660"), Value{"outside"});
}

TEST(Examine, MissesNothingOfTheGpusThatAContainerWasNotGiven) {
    auto report = healthy();
    report.host.container = "docker";
    auto other = gpu_of(report);
    other.id = "pci:0000:02:00.0";
    other.backends = {{"cuda", {.usable = false}}};
    other.findings = {because("node-missing", {{"node", "/dev/nvidia1"}})};
    report.gpus.push_back(other);
    const auto finding = only(examine(report, {}), "node-missing");
    EXPECT_EQ(finding.severity, Severity::Info);
    EXPECT_EQ(finding.evidence.at("container"), Value{"docker"});
    EXPECT_EQ(finding.evidence.at("node"), Value{"/dev/nvidia1"});
    report.gpus.erase(report.gpus.begin());
    EXPECT_EQ(only(examine(report, {}), "node-missing").severity, Severity::Error);
}

TEST(Examine, FindsALinuxDriverInWsl) {
    auto report = healthy();
    report.host.wsl = true;
    report.runtimes["cuda"].loader = "/usr/lib/wsl/lib/libcuda.so.1";
    EXPECT_TRUE(examine(report, {}).empty());
    report.runtimes["cuda"].loader = "/usr/lib/x86_64-linux-gnu/libcuda.so.1";
    EXPECT_EQ(only(examine(report, {}), "wsl-linux-driver").severity, Severity::Error);
}

// The place itself --------------------------------------------------------------------------------

/// A machine whose os-release has this ID.
Host on(const char* id, const char* version = "", const char* variant = "") {
    Host host{.arch = "x86_64"};
    host.os_release = OsRelease{.id = id};
    if (*version)
        host.os_release->version_id = version;
    if (*variant)
        host.os_release->variant_id = variant;
    return host;
}

Host in_sandbox(const char* sandbox) {
    auto host = on("debian");
    host.sandbox = sandbox;
    return host;
}

Host in_container(const char* container) {
    auto host = on("debian");
    host.container = container;
    return host;
}

Host on_machine(const char* arch) {
    auto host = on("debian");
    host.arch = arch;
    return host;
}

Host on_wsl() {
    auto host = on("ubuntu", "24.04");
    host.wsl = 2;
    return host;
}

struct InstallRow {
    const char* name;
    Host host;
    const char* role;
    std::string words;
    std::optional<std::string> command;
};
class Install : public ::testing::TestWithParam<InstallRow> {};

TEST_P(Install, IsACommandWhereOneExistsAndAlwaysWords) {
    const auto& row = GetParam();
    const Report report{.host = row.host};
    const Surroundings surroundings;
    const Place place{report, surroundings};
    const auto pattern = "{install:" + std::string{row.role} + "}";
    EXPECT_EQ(place.fix(pattern, Value{}), row.words);
    EXPECT_EQ(place.command(pattern, Value{}), row.command);
}

/// A row whose text is only the command.
InstallRow runs(const char* name, Host host, const char* role, const char* command) {
    return {name, std::move(host), role, command, command};
}
/// A row without a command.
InstallRow advises(const char* name, Host host, const char* role, const char* words) {
    return {name, std::move(host), role, words, {}};
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Install,
    ::testing::Values(
        runs("Debian", on("debian"), "vulkan-loader", "sudo apt install libvulkan1"),
        runs("LikeDebian", on("raspbian"), "vulkan-loader", "sudo apt install libvulkan1"),
        runs("OwnCommandOfTheRole",
             on("ubuntu", "24.04"),
             "nvidia-driver",
             "sudo ubuntu-drivers install"),
        runs("Toolbox", in_sandbox("toolbox"), "vulkan-loader", "sudo apt install libvulkan1"),
        runs("Container", in_container("docker"), "vulkan-loader", "sudo apt install libvulkan1"),
        advises("UnknownDistribution",
                on("unheard-of"),
                "vulkan-loader",
                "install the Vulkan loader (in Debian: libvulkan1)"),
        advises("NoDistribution",
                Host{},
                "vulkan-loader",
                "install the Vulkan loader (in Debian: libvulkan1)"),
        advises("Image",
                on("fedora", "", "silverblue"),
                "vulkan-loader",
                "sudo rpm-ostree install vulkan-loader, in use from the next start"),
        advises("DriverInAContainer",
                in_container("docker"),
                "nvidia-driver",
                "on the host, install NVIDIA's driver"),
        advises("DriverInWsl",
                on_wsl(),
                "nvidia-driver",
                "in Windows, install or update NVIDIA's driver"),
        advises("AnotherProcessor",
                on_machine("aarch64"),
                "level-zero",
                "Level Zero for Intel GPUs is available only for x86_64"),
        advises("NoPackage",
                on("debian", "11"),
                "rocm",
                "Debian has no package for the ROCm runtime: available from AMD's repository")),
    [](const auto& row) { return std::string{row.param.name}; });

TEST(PlaceFacts, NameTheDistributionAndTheEngine) {
    const auto facts = [](const Host& host) {
        const Report report{.host = host};
        const Surroundings surroundings;
        return json_line(Place{report, surroundings}.facts());
    };
    EXPECT_EQ(facts(on("debian")),
              R"({"distribution":"debian","image":false,"inside":false,"engine":null})");
    EXPECT_EQ(facts(on("fedora", "", "silverblue")),
              R"({"distribution":"fedora","image":true,"inside":false,"engine":null})");
    EXPECT_EQ(facts(in_container("podman")),
              R"({"distribution":"debian","image":false,"inside":true,"engine":"podman"})");
    EXPECT_EQ(
        facts(in_container("unheard-of")),
        R"({"distribution":"debian","image":false,"inside":true,"engine":"container-other"})");
    auto both = in_container("docker");
    both.sandbox = "snap";
    EXPECT_EQ(facts(both),
              R"({"distribution":"debian","image":false,"inside":true,"engine":"snap"})");
    auto jetson = on("ubuntu", "22.04");
    jetson.l4t = "R36";
    EXPECT_EQ(facts(jetson),
              R"({"distribution":"jetson","image":false,"inside":false,"engine":null})");
    EXPECT_EQ(facts(Host{}), R"({"distribution":null,"image":false,"inside":false,"engine":null})");
}

TEST(PlaceOfKin, IsTheFirstKnownId) {
    auto host = on("unheard-of");
    host.os_release->id_like = {"unheard-of-too", "arch", "debian"};
    const Report report{.host = host};
    const Surroundings surroundings;
    EXPECT_EQ(Place(report, surroundings).fix("{install:vulkan-loader}", Value{}),
              "sudo pacman -S vulkan-icd-loader");
}

TEST(PlaceWords, OfTheEvidenceAreQuotedOnlyInCommands) {
    const Report report{.host = on("debian")};
    const Surroundings surroundings;
    const Place place{report, surroundings};
    const Value evidence{
        Value::Object{{"group", "a group"}, {"parameter", "xe.force_probe=!e20b"}}};
    EXPECT_EQ(place.sentence("in {group}", evidence), "in a group");
    EXPECT_EQ(place.fix("usermod -aG {group}", evidence), "usermod -aG 'a group'");
    EXPECT_EQ(place.sentence("in {unknown}", evidence), "in ?");
    EXPECT_EQ(place.sentence("open[ in {unknown}]", evidence), "open");
    EXPECT_EQ(place.command("usermod -aG {group}", evidence), "usermod -aG 'a group'");
    EXPECT_EQ(place.command("usermod -aG {unknown}", evidence), std::nullopt);
    EXPECT_EQ(place.fix("{owner:group}", evidence), "dpkg -S 'a group'");
    EXPECT_EQ(place.fix("{kernel-remove:nomodeset}", evidence),
              "remove nomodeset from GRUB_CMDLINE_LINUX in /etc/default/grub, then sudo "
              "update-grub");
    EXPECT_NE(place.fix("{kernel-add:parameter}", evidence).find("add xe.force_probe=!e20b to"),
              std::string::npos);
}

TEST(PlaceEngine, GivesTheDeviceOfTheEvidenceElseAllOfThem) {
    const Report report{.host = in_container("unheard-of")};
    const Surroundings surroundings;
    const Place place{report, surroundings};
    EXPECT_EQ(place.fix("{engine:node}", Value{Value::Object{{"node", "/dev/kfd"}}}),
              "start the container with --device /dev/kfd");
    EXPECT_EQ(place.fix("{engine:node}", Value{}), "start the container with --device /dev/dri");
    const Report outside{.host = on("debian")};
    EXPECT_EQ(Place(outside, surroundings).command("{engine:node}", Value{}), std::nullopt);
}

TEST(PlaceCommands, OfRootHaveNoSudo) {
    const Report report{.host = on("debian")};
    const auto command = [&report](std::optional<bool> is_root) {
        const Surroundings surroundings{.is_root = is_root};
        return Place{report, surroundings}.as_caller("sudo a && sudo b; pseudo c");
    };
    EXPECT_EQ(command(false), "sudo a && sudo b; pseudo c");
    EXPECT_EQ(command(std::nullopt), "sudo a && sudo b; pseudo c");
    EXPECT_EQ(command(true), "a && b; pseudo c");
}

}  // namespace place_test
}  // namespace gpuprobe::test
