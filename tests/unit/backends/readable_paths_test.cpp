// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "backends/sandbox.h"
#include "support/case_name.h"
#include "support/temporary_folder.h"

namespace gpuprobe::backends {
namespace readable_paths_test {

using support::TemporaryFolder;

bool is_open(const std::vector<std::string>& places, const std::string& path) {
    return std::ranges::any_of(places, [&path](const std::string& place) {
        return path == place || path.starts_with(place + "/");
    });
}

struct Tree {
    const char* name;
    const char* folder;
    const char* tree;
};
class InstallTree : public ::testing::TestWithParam<Tree> {};

TEST_P(InstallTree, IsOfOneProgramOnly) {
    EXPECT_EQ(install_tree(GetParam().folder), GetParam().tree);
}

INSTANTIATE_TEST_SUITE_P(
    Rows,
    InstallTree,
    ::testing::Values(
        Tree{"OfLibraries", "/data/rocm/lib", "/data/rocm"},
        Tree{"OfManifests", "/data/mesa/share/vulkan/icd.d", "/data/mesa"},
        Tree{"OfCuda", "/data/cuda/targets/x86_64-linux/lib", "/data/cuda/targets/x86_64-linux"},
        Tree{"OfPythonPackages", "/home/a/venv/lib/python3.11/site-packages/nvidia/nvrtc/lib",
             "/home/a/venv/lib/python3.11/site-packages"},
        Tree{"InAHome", "/home/a/mesa/share/vulkan/icd.d", "/home/a/mesa"},
        Tree{"InAHiddenFolder", "/home/a/.local/share/vulkan/icd.d",
             "/home/a/.local/share/vulkan/icd.d"},
        Tree{"BelowAHiddenFolder", "/home/a/.conda/envs/gpu/lib", "/home/a/.conda/envs/gpu"},
        Tree{"LibrariesInAHome", "/home/a/lib", "/home/a/lib"},
        Tree{"InRootsHome", "/root/drivers/gpu", "/root/drivers/gpu"},
        Tree{"InARemoteHome", "/var/home/a/mesa/lib64", "/var/home/a/mesa"},
        Tree{"WithoutATree", "/srv/gpu", "/srv/gpu"},
        Tree{"AHome", "/home/a", ""},
        Tree{"AHiddenFolderOfAHome", "/home/a/.local", ""},
        Tree{"RootsHome", "/root", ""},
        Tree{"AllHomes", "/home", ""},
        Tree{"BelowVar", "/var/lib", ""},
        Tree{"InVarLib", "/var/lib/gpu/lib", "/var/lib/gpu"},
        Tree{"Settings", "/etc", ""},
        Tree{"FoldersOfUsers", "/run/user", ""},
        Tree{"Everything", "/", ""}),
    support::case_name);

TEST(ReadablePlaces, AreNoSecrets) {
    for (const bool sees_only_itself : {false, true}) {
        const auto places = readable_places({}, sees_only_itself);
        for (const auto* secret : {"/etc/shadow",
                                   "/etc/gshadow",
                                   "/etc/ssl/private/key",
                                   "/etc/ssh/ssh_host_rsa_key",
                                   "/etc/sudoers",
                                   "/etc/nvidia/ClientConfigToken/a.tok",
                                   "/etc/machine-id",
                                   "/root/x",
                                   "/home/a/x",
                                   "/var/lib/x",
                                   "/var/log/x",
                                   "/var/spool/x",
                                   "/boot/x",
                                   "/tmp/x",
                                   "/run/user/1000/bus",
                                   "/run/systemd/x",
                                   "/run/host/etc/shadow",
                                   "/run/host/root/x",
                                   "/dev/mem",
                                   "/dev/input/event0",
                                   "/sys/firmware/dmi/tables/DMI",
                                   "/sys/devices/virtual/dmi/id/product_serial",
                                   "/sys/kernel/debug/x"})
            EXPECT_FALSE(is_open(places, secret)) << secret;
        EXPECT_EQ(is_open(places, "/proc/1/environ"), sees_only_itself);
        for (const auto* needed : {"/usr/lib/libcuda.so.1", "/etc/ld.so.cache", "/proc/self/maps",
                                   "/proc/cpuinfo", "/sys/bus/pci/devices", "/opt/rocm/lib"})
            EXPECT_TRUE(is_open(places, needed)) << needed;
    }
}

/// Drivers that a user installed for themselves.
TEST(ReadablePlaces, ContainThePathsOfTheJobAndTheVariables) {
    const TemporaryFolder folder;
    folder.write("driver/lib/libvulkan_x.so", "");
    folder.write("driver/share/vulkan/icd.d/x.json", "{}");
    folder.write("more/libhelper.so", "");
    folder.link("link", folder.path() + "/driver/lib/libvulkan_x.so");
    const auto named = [&](const std::string& path) { return folder.path() + "/" + path; };
    EXPECT_TRUE(
        is_open(readable_places({.driver = named("driver/share/vulkan/icd.d/x.json")}, true),
                named("driver/lib/libvulkan_x.so")));
    EXPECT_TRUE(is_open(readable_places({.library = named("link")}, true),
                        named("driver/share/vulkan/icd.d/x.json")));
    EXPECT_FALSE(is_open(readable_places({.library = named("link")}, true), named("more/x")));
    ::setenv("LD_LIBRARY_PATH", (named("more") + ":" + named("missing")).c_str(), 1);
    EXPECT_TRUE(is_open(readable_places({}, true), named("more/libhelper.so")));
    ::unsetenv("LD_LIBRARY_PATH");
    EXPECT_FALSE(is_open(readable_places({}, true), named("more/libhelper.so")));
}

}  // namespace readable_paths_test
}  // namespace gpuprobe::backends
