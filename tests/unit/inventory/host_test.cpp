// SPDX-License-Identifier: Apache-2.0
#include "inventory/host.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "inventory/virtualization.h"
#include "unit/inventory/fake_machine.h"

namespace gpuprobe {
namespace host_test {

constexpr const char* kLevel1 = "fpu cx8 cmov mmx fxsr sse sse2 syscall lm";
constexpr const char* kLevel2 = "pni ssse3 cx16 sse4_1 sse4_2 popcnt lahf_lm";
constexpr const char* kLevel3 = "fma movbe xsave avx f16c abm bmi1 avx2 bmi2";
constexpr const char* kLevel4 = "avx512f avx512dq avx512cd avx512bw avx512vl";

std::string cpuinfo(const std::string& flags) {
    return "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: A CPU @ 3 GHz\nflags\t\t: " +
           flags + "\n\nprocessor\t: 1\nmodel name\t: A CPU @ 3 GHz\nflags\t\t: other\n";
}

std::string joined(std::initializer_list<std::string> parts) {
    std::string text;
    for (const auto& part : parts)
        text += part + " ";
    return text;
}

TEST(Cpu, HasAModelFeaturesAndCores) {
    const auto cpu = parse_cpuinfo(cpuinfo("sse2 avx avx abm"));
    EXPECT_EQ(cpu.model, "A CPU @ 3 GHz");
    EXPECT_EQ(cpu.features, (std::vector<std::string>{"abm", "avx", "sse2"}));
    EXPECT_EQ(cpu.cores, 2U);
    EXPECT_EQ(cpu.level, std::nullopt);
}

TEST(Cpu, OfAnEmptyFileIsUnknown) {
    EXPECT_EQ(parse_cpuinfo(""), Cpu{});
}

TEST(Cpu, OnArmIsNamedByItsPart) {
    const auto cpu = parse_cpuinfo(
        "processor\t: 0\nBogoMIPS\t: 2000.00\nFeatures\t: fp asimd sve2 i8mm\n"
        "CPU implementer\t: 0x41\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: 0xd4f\n");
    EXPECT_EQ(cpu.model, "Neoverse-V2");
    EXPECT_EQ(cpu.features, (std::vector<std::string>{"asimd", "fp", "i8mm", "sve2"}));
    EXPECT_EQ(cpu.level, std::nullopt);
    EXPECT_EQ(parse_cpuinfo("CPU implementer\t: 0x99\nCPU part\t: 0x1\n").model, std::nullopt);
}

TEST(Cpu, LevelNeedsEveryFeatureOfTheLevelsBelow) {
    const auto level = [](const std::string& flags) { return parse_cpuinfo(cpuinfo(flags)).level; };
    EXPECT_EQ(level(kLevel1), "x86-64-v1");
    EXPECT_EQ(level(joined({kLevel1, kLevel2})), "x86-64-v2");
    EXPECT_EQ(level(joined({kLevel1, kLevel2, kLevel3})), "x86-64-v3");
    EXPECT_EQ(level(joined({kLevel1, kLevel2, kLevel3, kLevel4})), "x86-64-v4");
    EXPECT_EQ(level(joined({kLevel1, kLevel3, kLevel4})), "x86-64-v1");
    EXPECT_EQ(level(kLevel2), std::nullopt);
}

TEST(Cpu, LevelFallsWithAnyOneFeature) {
    const auto all = joined({kLevel1, kLevel2, kLevel3, kLevel4});
    for (const auto word : words(all)) {
        std::string rest;
        for (const auto other : words(all))
            if (other != word)
                rest += std::string{other} + " ";
        EXPECT_NE(parse_cpuinfo(cpuinfo(rest)).level, "x86-64-v4") << word;
    }
}

TEST(Processors, AreCountedInRanges) {
    EXPECT_EQ(processors_in("0"), 1U);
    EXPECT_EQ(processors_in("0-3,8,10-11\n"), 7U);
    for (const auto* bad : {"", "-", "3-1", "0-", "a", "0-99999999", "0,,1"})
        EXPECT_EQ(processors_in(bad), std::nullopt) << bad;
}

TEST(Host, HasTheRunningKernelAndTheFilesFacts) {
    const FakeMachine machine;
    machine.file("/proc/cpuinfo", cpuinfo(kLevel1));
    machine.file("/proc/meminfo",
                 "MemTotal:       16316408 kB\nMemFree: 1 kB\nMemAvailable:    8000 kB\n");
    machine.file("/sys/devices/system/cpu/online", "0-7\n");
    const auto host = detect_host(RootedFiles{machine.root()});
    EXPECT_EQ(host.os, "linux");
    EXPECT_TRUE(host.arch);
    EXPECT_TRUE(host.kernel);
    EXPECT_EQ(host.memory.total, kib(16316408));
    EXPECT_EQ(host.memory.available, kib(8000));
    EXPECT_EQ(host.cpu.cores, 8U);
    EXPECT_EQ(host.cpu.level, "x86-64-v1");
    EXPECT_EQ(host.container, std::nullopt);
#if defined(__GLIBC__)
    EXPECT_EQ(host.libc.name, "glibc");
    EXPECT_TRUE(host.libc.version);
#endif
}

TEST(Host, DoesNotBelieveRubbishAboutMemory) {
    const FakeMachine machine;
    machine.file("/proc/meminfo",
                 "MemTotal: 99999999999999999 kB\nMemAvailable: 12 MB\nMemAvailable:\n");
    EXPECT_EQ(detect_host(RootedFiles{machine.root()}).memory, HostMemory{});
}

TEST(LibraryFolders, BeginWithDebiansForTheArchitecture) {
    const auto first = [](const char* arch) { return library_folders({.arch = arch}).front(); };
    EXPECT_EQ(first("x86_64"), "/usr/lib/x86_64-linux-gnu");
    EXPECT_EQ(first("ppc64le"), "/usr/lib/powerpc64le-linux-gnu");
    EXPECT_EQ(first("armv7l"), "/usr/lib/arm-linux-gnueabihf");
    EXPECT_EQ(first("i686"), "/usr/lib/i386-linux-gnu");
}

TEST(Host, IsWslWhereItsDeviceIs) {
    const FakeMachine machine;
    EXPECT_FALSE(detect_host(RootedFiles{machine.root()}).wsl);
    machine.file("/dev/dxg", "");
    EXPECT_TRUE(detect_host(RootedFiles{machine.root()}).wsl);
}

}  // namespace host_test
}  // namespace gpuprobe
