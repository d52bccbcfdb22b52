// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/environment.h"
#include "policy/gpu_selection.h"
#include "policy/override_rule.h"
#include "policy/select.h"
#include "report/compute_view.h"
#include "unit/policy/machines.h"

namespace gpuprobe {
namespace units_test {

using support::amd_card;
using support::default_profile;
using support::kFirstUuid;
using support::nvidia_card;
using support::report_of;
using Names = std::vector<std::string>;

constexpr const char* kLarge = "pci:0000:06:00.0/mig-1";
constexpr const char* kSmall = "pci:0000:06:00.0/mig-9";
constexpr const char* kLargeUuid = "MIG-7e611089-1272-699d-8985-ab84fef4311e";
constexpr const char* kSmallUuid = "MIG-8e611089-1272-699d-8985-ab84fef4311e";

Partition instance(std::string name, const char* uuid, Bytes memory) {
    return {.name = name,
            .id = "pci:0000:06:00.0/" + name,
            .uuid = uuid,
            .memory = FactMemory{.total = memory}};
}

/// Two cards, of which the first is divided. CUDA lists only the first instance of that card.
Report with_instances() {
    auto divided = nvidia_card("0000:06:00.0", kFirstUuid, 0);
    divided.partitions = {instance("mig-1", kLargeUuid, gib(70)),
                          instance("mig-9", kSmallUuid, gib(17))};
    divided.partitions[0].indices = {{"cuda", 0}};
    return report_of({divided, nvidia_card("0000:83:00.0", "GPU-2", 1)});
}

Report with_partitions() {
    auto card = amd_card("0000:05:00.0", "a1b2c3d4e5f60718", 0);
    for (std::uint32_t i = 0; i < 2; ++i)
        card.partitions.push_back({.name = "xcp-" + std::to_string(i),
                                   .id = card.id + "/xcp-" + std::to_string(i),
                                   .memory = FactMemory{.total = gib(12)},
                                   .indices = {{"hip", i}, {"vulkan", i}}});
    return report_of({card});
}

Decision decide(const Report& report, const SelectRequest& request) {
    auto decision = select(default_profile(), request, report);
    EXPECT_TRUE(decision) << decision.error().text;
    return decision ? *decision : Decision{};
}

TEST(SelectPartitions, TakesOneInstanceAndNothingBesideIt) {
    const auto decision = decide(with_instances(), {.gpus = Names{kSmall}});
    EXPECT_EQ(decision.backend, "cuda");
    EXPECT_EQ(decision.gpus, Names{kSmall});
    EXPECT_EQ(decision.environment.at("CUDA_VISIBLE_DEVICES"), kSmallUuid);
}

TEST(SelectPartitions, TakesTheIdOfAGpuForAllOfItsPartitions) {
    for (const auto* id : {"pci:0000:06:00.0", "0000:06:00.0"}) {
        const auto decision = decide(with_instances(), {.gpus = Names{id}});
        EXPECT_EQ(decision.gpus, Names{kLarge}) << id;
    }
    const auto denied =
        decide(with_instances(), {.deny = {kLarge}, .gpus = Names{"pci:0000:06:00.0"}});
    EXPECT_EQ(denied.gpus, Names{kSmall});
}

TEST(SelectPartitions, NeverPutsAnInstanceBesideAWholeGpu) {
    EXPECT_EQ(decide(with_instances(), {}).gpus, Names{"pci:0000:83:00.0"});
    EXPECT_EQ(decide(with_instances(), {.gpus = Names{kSmall, kLarge}}).gpus, Names{kSmall});
    EXPECT_EQ(decide(with_instances(), {.gpus = Names{kLarge, kSmall}}).gpus, Names{kLarge});
}

TEST(SelectPartitions, HoldsARequestAgainstTheUnitsMemory) {
    const auto decision =
        decide(with_instances(), {.min_memory = gib(80), .gpus = Names{"pci:0000:06:00.0"}});
    EXPECT_NE(decision.backend, "cuda");
}

TEST(SelectPartitions, PutsPartitionsOfACardTogether) {
    const auto decision = decide(with_partitions(), {.backend = "rocm"});
    EXPECT_EQ(decision.gpus, (Names{"pci:0000:05:00.0/xcp-0", "pci:0000:05:00.0/xcp-1"}));
    EXPECT_EQ(decision.environment.at("HIP_VISIBLE_DEVICES"), "0,1");
}

TEST(SelectPartitions, KnowsNoPartitionThatIsNotThere) {
    for (const auto* id :
         {"pci:0000:06:00.0/mig-2", "pci:0000:06:00.0/", "pci:0000:83:00.0/mig-1"}) {
        const auto decision = select(default_profile(), {.gpus = Names{id}}, with_instances());
        ASSERT_FALSE(decision) << id;
        EXPECT_EQ(decision.error().code, ErrorCode::UnknownDevice);
    }
}

TEST(OverridePartitions, NarrowAGpuToTheUnitsThatBothAllow) {
    const auto report = with_instances();
    const auto request = under_rule({.gpus = Names{kSmall}}, {.gpus = Names{"0000:06:00.0"}},
                                    default_profile(), report);
    EXPECT_EQ(request.gpus, Names{kSmall});
    const auto other = under_rule({.gpus = Names{"0000:06:00.0"}}, {.gpus = Names{kLarge}},
                                  default_profile(), report);
    EXPECT_EQ(other.gpus, Names{kLarge});
}

TEST(PartitionSelectors, NameAPartitionByItsPlaceWhereItHasNoId) {
    const auto report = with_partitions();
    const ComputeView view{report};
    Names places;
    for (const auto& selector : gpu_selectors(view.report(), view.report().gpus.at(1)))
        if (selector.api == "hip")
            for (const auto& [name, value] : selector.variables)
                places.push_back(name + "=" + value);
    EXPECT_EQ(places, (Names{"HIP_VISIBLE_DEVICES=0", "ROCR_VISIBLE_DEVICES=1",
                             "HIP_VISIBLE_DEVICES=1", "ROCR_VISIBLE_DEVICES=1"}));
}

TEST(PartitionSelectors, CountKfdsNodesWhereRocmWasNotAsked) {
    auto report = with_partitions();
    report.gpus[0].apis.erase("hip");
    for (std::uint32_t i = 0; i < 2; ++i) {
        report.gpus[0].partitions[i].kfd_node = 4 + i;
        report.gpus[0].partitions[i].indices.clear();
    }
    const auto place_of_second = [&report] {
        const ComputeView view{report};
        const Selection second{.report = view.report(), .gpus = {&view.report().gpus.at(1)}};
        return selector_fact("hip_indices", second);
    };
    EXPECT_EQ(place_of_second(), "1");
    report.gpus[0].apis["hip"] = {.outcome = Outcome::Skipped, .reasons = {because("asleep")}};
    EXPECT_EQ(place_of_second(), "1");
    report.gpus[0].apis["hip"] = {.outcome = Outcome::Absent};
    EXPECT_EQ(place_of_second(), std::nullopt) << "ROCm was asked, and does not list it";
}

}  // namespace units_test
}  // namespace gpuprobe
