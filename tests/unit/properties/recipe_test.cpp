// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <iostream>
#include <map>
#include <set>

#include "unit/properties/each_machine.h"

/// Tests that mixed machines of every interesting kind occur.
namespace gpuprobe::testing_properties {
namespace recipe_test {

bool is_numbered(const std::string& path) {
    return std::isdigit(static_cast<unsigned char>(path.back())) != 0;
}

/// Whether no two parts have the same address or the same numbered node.
bool is_nowhere_else(const Recipe& recipe) {
    std::set<std::string> ids;
    std::set<std::string> nodes;
    for (const auto& part : recipe.parts) {
        if (!part.hardware)
            continue;
        if (!ids.insert(part.hardware->id).second)
            return false;
        for (const auto& node : part.hardware->nodes)
            if (is_numbered(node.path) && !nodes.insert(node.path).second)
                return false;
    }
    return true;
}

struct Kind {
    const char* name;
    bool (*is_one)(const Recipe& recipe, const Report& report);
};

template <class Is>
bool any_hardware(const Recipe& recipe, const Is& is) {
    return std::ranges::any_of(
        recipe.parts, [&is](const Part& part) { return part.hardware && is(*part.hardware); });
}

bool any_story(const Recipe& recipe, std::string_view story) {
    return std::ranges::any_of(recipe.parts, [story](const Part& part) {
        return part.story.find(story) != std::string::npos;
    });
}

bool any_partition(const Report& report, std::string_view prefix) {
    for (const auto& gpu : report.gpus)
        for (const auto& partition : gpu.partitions)
            if (partition.name.starts_with(prefix))
                return true;
    return false;
}

bool any_closed(const Report& report) {
    return std::ranges::any_of(report.gpus, is_closed);
}

std::size_t vendors(const Report& report) {
    std::set<std::string> all;
    for (const auto& gpu : report.gpus)
        all.insert(gpu.vendor.value_or(""));
    return all.size();
}

constexpr auto kKinds = std::to_array<Kind>({
    {"no GPU", [](const Recipe&, const Report& report) { return report.gpus.empty(); }},
    {"accelerator",
     [](const Recipe&, const Report& report) { return !report.accelerators.empty(); }},
    {"SoC",
     [](const Recipe& recipe, const Report&) {
         return any_hardware(recipe, [](const HardwareDevice& hardware) {
             return hardware.bus == HardwareBus::Platform;
         });
     }},
    {"virtual function under its physical one",
     [](const Recipe&, const Report& report) { return any_partition(report, "vf"); }},
    {"MIG", [](const Recipe&, const Report& report) { return any_partition(report, "mig-"); }},
    {"AMD partitions",
     [](const Recipe&, const Report& report) { return any_partition(report, "xcp-"); }},
    {"WSL", [](const Recipe& recipe, const Report&) { return recipe.host.wsl; }},
    {"listed several times at one address",
     [](const Recipe& recipe, const Report&) { return any_story(recipe, "listed several"); }},
    {"several of one model",
     [](const Recipe& recipe, const Report&) { return any_story(recipe, "a twin"); }},
    {"cards of three vendors",
     [](const Recipe&, const Report& report) { return vendors(report) > 2; }},
    {"no driver",
     [](const Recipe& recipe, const Report&) { return any_story(recipe, "by no driver"); }},
    {"vfio", [](const Recipe& recipe, const Report&) { return any_story(recipe, "by vfio-pci"); }},
    {"hidden hardware",
     [](const Recipe& recipe, const Report&) { return any_story(recipe, "hidden"); }},
    {"without an address",
     [](const Recipe& recipe, const Report&) { return any_story(recipe, "without its"); }},
    {"missing nodes",
     [](const Recipe& recipe, const Report&) { return any_story(recipe, "nodes missing"); }},
    {"closed nodes", [](const Recipe&, const Report& report) { return any_closed(report); }},
    {"container",
     [](const Recipe& recipe, const Report&) { return recipe.host.container.has_value(); }},
});

TEST(MixedMachines, AreOfEveryKind) {
    std::map<std::string, unsigned> counts;
    constexpr std::uint64_t kMachines = 600;
    for (std::uint64_t seed = 1; seed <= kMachines; ++seed) {
        const auto recipe = mixed(seed);
        const auto report = report_of(recipe);
        EXPECT_TRUE(is_nowhere_else(recipe)) << description_of(recipe);
        for (const auto& kind : kKinds)
            counts[kind.name] += kind.is_one(recipe, report) ? 1 : 0;
    }
    for (const auto& kind : kKinds) {
        std::cout << kind.name << ": " << counts[kind.name] << " of " << kMachines << "\n";
        EXPECT_GT(counts[kind.name], 2U) << kind.name;
    }
}

TEST(MixedMachines, AreTheSameForTheSameSeed) {
    EXPECT_EQ(description_of(mixed(42)), description_of(mixed(42)));
    EXPECT_NE(description_of(mixed(42)), description_of(mixed(43)));
}

/// A violation is reported only with the parts that are needed to show it.
TEST(MixedMachines, AreMadeSmaller) {
    std::uint64_t seed = 1;
    const auto is_one = [](const Recipe& recipe) {
        return any_hardware(recipe,
                            [](const HardwareDevice& part) { return part.vendor_id == "10de"; });
    };
    while (!is_one(mixed(seed)) || mixed(seed).parts.size() < 3)
        ++seed;
    const auto has_none = [&is_one](const Recipe& recipe) { EXPECT_FALSE(is_one(recipe)); };
    EXPECT_FALSE(holds_on(mixed(seed), has_none));
    const auto least = shrunk(mixed(seed), has_none);
    ASSERT_EQ(least.parts.size(), 1U);
    EXPECT_EQ(least.parts.front().hardware->vendor_id, "10de");
    EXPECT_TRUE(least.parts.front().records.empty());
    EXPECT_TRUE(least.mishaps.empty());
}

}  // namespace recipe_test
}  // namespace gpuprobe::testing_properties
