// SPDX-License-Identifier: Apache-2.0
#include "knowledge/places.h"

#include <gtest/gtest.h>

#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace places_test {

std::string_view document() {
    for (const auto& document : builtin_knowledge())
        if (document.name == "distributions")
            return document.json;
    return {};
}

TEST(Places, AreRead) {
    const auto places = Places::from(document());
    ASSERT_TRUE(places) << places.error().text;
}

TEST(Places, TakeTheRowThatFitsBest) {
    const auto& places = Places::current();
    const auto packages = [&places](const char* id, const char* version, const char* variant,
                                    const char* role) -> std::string {
        const auto* row = places.find(id, version, variant);
        const auto* entry =
            row ? places.entry_of(*row, &Distribution::packages, role, version) : nullptr;
        return entry ? *entry : "(unknown)";
    };
    EXPECT_EQ(packages("debian", "12", "", "rocm"), "libhsa-runtime64-1 libamdhip64-5");
    EXPECT_EQ(packages("debian", "11", "", "rocm"), "");
    EXPECT_EQ(packages("debian", "13", "", "intel-firmware"), "firmware-intel-graphics");
    EXPECT_EQ(packages("raspbian", "13", "", "intel-firmware"), "firmware-intel-graphics");
    EXPECT_EQ(packages("raspbian", "13", "", "nvidia-driver"), "");
    EXPECT_EQ(packages("raspbian", "12", "", "rocm"), packages("debian", "12", "", "rocm"));
    EXPECT_EQ(packages("ubuntu", "24.04", "", "vulkan-loader"), "libvulkan1");
    EXPECT_EQ(packages("arch", "", "", "mesa-vulkan.amd"), "vulkan-radeon");
    EXPECT_EQ(packages("debian", "12", "", "mesa-vulkan.amd"), "mesa-vulkan-drivers");
    EXPECT_EQ(packages("ubuntu", "26.04", "", "nvidia-legacy"), "");
    EXPECT_EQ(packages("ubuntu", "24.04", "", "nvidia-legacy"), "nvidia-driver-470-server");
    EXPECT_EQ(packages("rhel", "9.4", "", "amd-firmware"), "linux-firmware");
    EXPECT_EQ(packages("rocky", "10.1", "", "amd-firmware"), "amd-gpu-firmware");
    EXPECT_EQ(packages("rocky", "10.1", "", "vulkan-loader"), "vulkan-loader");
    EXPECT_EQ(packages("from-the-future", "", "", "mesa-vulkan"), "(unknown)");
    EXPECT_NE(places.find("fedora", "41", "silverblue")->image, std::nullopt);
    EXPECT_NE(places.find("fedora", "42", "sway-atomic")->image, std::nullopt);
    EXPECT_NE(places.find("bluefin", "42", "bluefin-dx")->image, std::nullopt);
    EXPECT_EQ(places.find("fedora", "41", "workstation")->image, std::nullopt);
}

TEST(Places, FindAReleaseByItsVersionOrItsCodename) {
    const auto& places = Places::current();
    const auto found = [&places](const char* id, const char* version,
                                 const std::vector<std::string>& codenames) {
        const auto match = places.find(
            PlaceQuery{.id = id, .version = version, .variant = "", .codenames = codenames});
        const auto* row = match.row;
        return (row ? row->version.value_or(row->release.value_or("any")) : "none") +
               (match.is_other_release ? "?" : "");
    };
    EXPECT_EQ(found("ubuntu", "24.04", {}), "24.04");
    EXPECT_EQ(found("ubuntu", "", {"jammy"}), "22.04");
    EXPECT_EQ(found("ubuntu", "26.04", {}), "26.04");
    EXPECT_EQ(found("ubuntu", "25.10", {"questing"}), "26.04?");
    EXPECT_EQ(found("ubuntu", "20.04", {"focal"}), "22.04?");
    EXPECT_EQ(found("debian", "", {"forky"}), "13?");
    EXPECT_EQ(found("debian", "12.7", {}), "12");
    EXPECT_EQ(found("arch", "", {}), "any");
    EXPECT_EQ(found("rocky", "9.4", {}), "any");
    EXPECT_EQ(found("rocky", "10.1", {}), "10");
    EXPECT_EQ(found("linuxmint", "22", {"noble"}), "none");
}

TEST(Places, FindTheParentOfADerivativeAndItsRelease) {
    const auto& places = Places::current();
    const auto found = [&places](const char* version, const std::vector<std::string>& codenames,
                                 const std::vector<std::string>& kin) {
        const auto match = places.find_kin(
            PlaceQuery{.id = "", .version = version, .variant = "", .codenames = codenames}, kin);
        const auto* row = match.row;
        return row ? row->id + " " + row->version.value_or(row->release.value_or("any")) : "none";
    };
    EXPECT_EQ(found("22.1", {"xia", "noble"}, {"ubuntu", "debian"}), "ubuntu 24.04");
    EXPECT_EQ(found("6", {"faye", "bookworm"}, {"debian"}), "debian 12");
    EXPECT_EQ(found("43", {}, {"rhel", "centos", "fedora"}), "fedora 42");
    EXPECT_EQ(found("9.4", {}, {"rhel", "centos", "fedora"}), "rhel 9");
    EXPECT_EQ(found("1", {}, {"nowhere"}), "none");
    EXPECT_EQ(places.appliance("6.8.12-4-pve")->id, "proxmox-ve");
    EXPECT_EQ(places.appliance("6.1.106-Unraid")->id, "unraid");
    EXPECT_EQ(places.appliance("6.8.0-45-generic"), nullptr);
}

TEST(Places, EndAtARowThatIsLikeItself) {
    const auto places = Places::from(R"({"schema": "gpuprobe.distributions/1", "roles": {},
        "distributions": [{"id": "a", "name": "A", "like": "b"}, {"id": "b", "name": "B", "like": "a"}]})");
    ASSERT_TRUE(places);
    EXPECT_EQ(places->entry_of(*places->find("a", "", ""), &Distribution::packages, "x", ""),
              nullptr);
}

TEST(Places, RefuseInvalidDataFiles) {
    EXPECT_FALSE(Places::from("{}"));
    EXPECT_FALSE(Places::from(R"({"schema": "gpuprobe.causes/1"})"));
}

}  // namespace places_test
}  // namespace gpuprobe::knowledge
