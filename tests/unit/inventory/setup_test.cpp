// SPDX-License-Identifier: Apache-2.0
#include "inventory/setup.h"

#include <gtest/gtest.h>

#include "inventory/virtualization.h"
#include "support/memory_files.h"

namespace gpuprobe::test {
namespace setup_test {

using support::MemoryFiles;
using Words = std::vector<std::string>;

TEST(OsRelease, IsReadWithAndWithoutQuotes) {
    MemoryFiles files;
    files.write("/etc/os-release",
                "NAME=\"Linux Mint\"\nID=linuxmint\nID_LIKE=\"ubuntu debian\"\nVERSION_ID='22'\n");
    const auto release = os_release_of(files);
    ASSERT_TRUE(release);
    EXPECT_EQ(*release,
              (OsRelease{.id = "linuxmint", .id_like = {"ubuntu", "debian"}, .version_id = "22"}));
}

TEST(OsRelease, HasTheCodenamesOfItsOwnReleaseAndOfThoseItDerivesFrom) {
    MemoryFiles files;
    files.write("/etc/os-release",
                "ID=linuxmint\nVERSION_CODENAME=wilma\nUBUNTU_CODENAME=noble\nX_CODENAME=x\n");
    EXPECT_EQ(os_release_of(files)->codenames, (Words{"wilma", "noble"}));
    files.write("/etc/os-release", "ID=ubuntu\nVERSION_CODENAME=noble\nUBUNTU_CODENAME=noble\n");
    EXPECT_EQ(os_release_of(files)->codenames, Words{"noble"});
    files.write("/etc/os-release", "ID=linuxmint\nDEBIAN_CODENAME=bookworm\n");
    EXPECT_EQ(os_release_of(files)->codenames, Words{"bookworm"});
}

TEST(OsRelease, KnowsSynologysSystemWhichHasNone) {
    MemoryFiles files;
    files.write("/etc.defaults/VERSION", "majorversion=\"7\"\n");
    EXPECT_EQ(os_release_of(files)->id, "synology-dsm");
}

TEST(OsRelease, IsInUsrLibWhereEtcHasNone) {
    MemoryFiles files;
    files.write("/usr/lib/os-release", "ID=fedora\nVARIANT_ID=silverblue\n");
    EXPECT_EQ(os_release_of(files)->variant_id, "silverblue");
}

TEST(OsRelease, KnowsRaspberryPiOsThatCallsItselfDebian) {
    MemoryFiles files;
    files.write("/etc/os-release", "ID=debian\nVERSION_ID=\"12\"\n");
    EXPECT_EQ(os_release_of(files)->id, "debian");
    files.write("/etc/rpi-issue", "Raspberry Pi reference 2025-05-13\n");
    EXPECT_EQ(*os_release_of(files),
              (OsRelease{.id = "raspbian", .id_like = {"debian"}, .version_id = "12"}));
    files.write("/etc/os-release", "ID=ubuntu\n");
    EXPECT_EQ(os_release_of(files)->id, "ubuntu");
}

TEST(OsRelease, TakesWhateverAFileHolds) {
    MemoryFiles files;
    EXPECT_EQ(os_release_of(files), std::nullopt);
    for (const std::string text : {"", "=", "ID", "ID=\"", "ID='", "\n\n=\n", "ID=\x1b[31m"}) {
        files.write("/etc/os-release", text);
        const auto release = os_release_of(files);
        ASSERT_TRUE(release);
        EXPECT_EQ(release->id.value_or("").find('\x1b'), std::string::npos);
    }
}

TEST(Sandbox, IsDetectedByItsMarker) {
    MemoryFiles files;
    EXPECT_EQ(sandbox_of(files), std::nullopt);
    files.write("/proc/self/attr/current", "snap.ollama.listener (enforce)\n");
    EXPECT_EQ(sandbox_of(files), "snap");
    files.write("/run/.toolboxenv", "");
    EXPECT_EQ(sandbox_of(files), "toolbox");
    files.write("/.flatpak-info", "[Application]\n");
    EXPECT_EQ(sandbox_of(files), "flatpak");
}

TEST(Python, IsTheOneToWhichItsLinkLeads) {
    MemoryFiles files;
    EXPECT_EQ(python_of(files), std::nullopt);
    for (const auto& [target, version] :
         std::initializer_list<std::pair<const char*, std::optional<std::string>>>{
             {"python3.11", "3.11"},
             {"/usr/bin/python3.9", "3.9"},
             {"../lib/python/bin/python3.14", "3.14"},
             {"python3", std::nullopt},
             {"python3.13t", std::nullopt},
             {"python3.x", std::nullopt},
             {"pypy3.10", std::nullopt}}) {
        files.link("/usr/bin/python3", target);
        EXPECT_EQ(python_of(files), version) << target;
    }
    files.link("/usr/bin/python3", "/etc/alternatives/python3");
    EXPECT_EQ(python_of(files), std::nullopt);
    files.link("/etc/alternatives/python3", "/usr/bin/python3.6");
    EXPECT_EQ(python_of(files), "3.6");
    files.link("/etc/alternatives/python3", "/etc/alternatives/python3");
    EXPECT_EQ(python_of(files), std::nullopt) << "a loop";
}

TEST(KernelSetup, KeepsOnlyWordsOfTheCommandLineAboutGpus) {
    MemoryFiles files;
    files.write(
        "/proc/cmdline",
        "root=UUID=secret quiet nomodeset amdgpu.gttsize=1 nvidia-drm.modeset=1 password=x\n");
    EXPECT_EQ(kernel_setup(files, {}).parameters,
              (Words{"nomodeset", "amdgpu.gttsize=1", "nvidia-drm.modeset=1"}));
}

TEST(KernelSetup, ReadsBlacklists) {
    MemoryFiles files;
    files.write("/etc/modprobe.d/a.conf",
                "# blacklist amdgpu\nblacklist nouveau\ninstall nvidia-drm /bin/false\n");
    files.write("/etc/modprobe.d/b.txt", "blacklist xe\n");
    files.write("/usr/lib/modprobe.d/c.conf", "blacklist pcspkr\ninstall i915 /sbin/modprobe x\n");
    EXPECT_EQ(kernel_setup(files, {}).blacklist, (Words{"nouveau", "nvidia_drm"}));
}

TEST(KernelSetup, ReadsBlacklistsInEachFolderOfModprobe) {
    for (const std::string folder : {"/etc", "/run", "/usr/local/lib", "/usr/lib", "/lib"}) {
        MemoryFiles files;
        files.write(folder + "/modprobe.d/blacklist-nvidia.conf", "alias nvidia off\n");
        EXPECT_EQ(kernel_setup(files, {}).blacklist, Words{"nvidia"}) << folder;
    }
}

TEST(KernelSetup, ReadsBlacklistsOnTheCommandLineWordByWord) {
    const auto blacklist = [](const std::string& line) {
        MemoryFiles files;
        files.write("/proc/cmdline", line);
        return kernel_setup(files, {}).blacklist;
    };
    EXPECT_EQ(blacklist("modprobe.blacklist=pcspkr,nvidia,nvidia-drm"),
              (Words{"nvidia", "nvidia_drm"}));
    EXPECT_EQ(blacklist("rd.driver.blacklist=nouveau module_blacklist=xe"),
              (Words{"nouveau", "xe"}));
    EXPECT_EQ(blacklist("modprobe.blacklist=nvidiafb initcall_blacklist=nvidia nvidia.x=blacklist"),
              std::nullopt);
    EXPECT_EQ(blacklist("modprobe.blacklist modprobe.blacklist="), std::nullopt);
}

TEST(KernelSetup, FindsModulesOfTheRunningKernel) {
    MemoryFiles files;
    files.write(
        "/lib/modules/6.1/modules.dep",
        "kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.xz: a.ko\nupdates/dkms/nvidia-uvm.ko:\n");
    files.write("/lib/modules/6.1/modules.builtin", "kernel/drivers/gpu/drm/i915/i915.ko\n");
    EXPECT_EQ(kernel_setup(files, "6.1").installed, (Words{"amdgpu", "i915", "nvidia_uvm"}));
    EXPECT_EQ(kernel_setup(files, "6.2").installed, std::nullopt);
    EXPECT_EQ(kernel_setup(files, {}).installed, std::nullopt);
}

/// On Debian, several versions of NVIDIA's driver can be installed, so the name of a file is not
/// the name of the module.
TEST(KernelSetup, KnowsTheModulesOfNvidiasFlavours) {
    const auto installed = [](const std::string& name) {
        MemoryFiles files;
        files.write("/lib/modules/6.1/modules.dep", "updates/dkms/" + name + ".ko.xz:\n");
        return kernel_setup(files, "6.1").installed;
    };
    for (const auto* flavour : {"nvidia", "nvidia-current", "nvidia-current-open",
                                "nvidia-tesla-535", "nvidia-legacy-390xx", "nvidia_390"}) {
        EXPECT_EQ(installed(flavour), Words{"nvidia"}) << flavour;
        EXPECT_EQ(installed(flavour + std::string{"-uvm"}), Words{"nvidia_uvm"}) << flavour;
    }
    for (const auto* other : {"nvidiafb", "nvidia-wmi-ec-backlight", "nvidia-cspmu", "nvidia-"})
        EXPECT_EQ(installed(other), Words{}) << other;
}

TEST(KernelSetup, ReadsWhatIsInUse) {
    MemoryFiles files;
    files.write("/sys/module/nvidia_drm/parameters/modeset", "N\n");
    files.write("/sys/module/amdgpu/version", "");
    files.write("/proc/driver/nvidia/params",
                "DeviceFileMode: 438\nDeviceFileMode\nRegistryDwords: \"secret\"\n");
    files.write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    files.write("/proc/sys/kernel/tainted", "4097\n");
    const auto setup = kernel_setup(files, {});
    EXPECT_EQ(setup.options, (Words{"nvidia_drm.modeset=N", "nvidia.NVreg_DeviceFileMode=438"}));
    EXPECT_EQ(setup.loaded, (Words{"amdgpu", "nvidia_drm"}));
    EXPECT_EQ(setup.lockdown, "integrity");
    EXPECT_EQ(setup.tainted, 4097U);
    EXPECT_EQ(setup.secure_boot, std::nullopt);
    EXPECT_EQ(setup.iommu, std::nullopt);
}

/// For captures: a scan gets the same facts from the reduced file as from the whole file.
TEST(SetupPart, KeepsOnlyWhatAScanUses) {
    EXPECT_EQ(setup_part("/proc/cmdline",
                         "BOOT_IMAGE=/vmlinuz root=UUID=1-2 ip=10.0.0.5 luks.name=x=home "
                         "nomodeset hostname=marta nvidia-drm.modeset=1\n"),
              "nomodeset nvidia-drm.modeset=1\n");
    EXPECT_EQ(setup_part("/etc/modprobe.d/marta.conf",
                         "# by marta@example.org\nblacklist nouveau\noptions x key=secret\n"
                         "install nova_core /bin/false\nblacklist pcspkr\n"),
              "blacklist nouveau\nblacklist nova_core\n");
    EXPECT_EQ(setup_part("/etc/os-release",
                         "NAME=\"Marta's\"\nID=debian\nVERSION_ID=\"12\"\nBUILD_ID=host7\n"),
              "ID=debian\nVERSION_ID=\"12\"\n");
    EXPECT_EQ(setup_part("/proc/self/attr/current", "marta_u:marta_r:x\n"), "");
    EXPECT_EQ(setup_part("/proc/self/attr/current", "snap.jan.jan\n"), "snap.jan.jan\n");
    EXPECT_EQ(setup_part("/proc/cpuinfo", "model name: x\n"), std::nullopt);
}

TEST(KernelSetup, KnowsNothingWhereNothingIs) {
    EXPECT_EQ(kernel_setup(MemoryFiles{}, "6.1"), KernelSetup{});
}

}  // namespace setup_test
}  // namespace gpuprobe::test
