// SPDX-License-Identifier: Apache-2.0
#include "calls/documents.h"

#include <gtest/gtest.h>

namespace gpuprobe {
namespace documents_test {

using Ids = std::vector<std::string>;

/// A card, and one that is divided into two instances.
Report two_cards() {
    Gpu whole{.id = "pci:0000:01:00.0", .vendor = "amd"};
    Gpu divided{.id = "pci:0000:02:00.0", .vendor = "nvidia"};
    for (const std::uint32_t instance : {1U, 2U}) {
        const auto name = mig_name(instance, std::nullopt);
        divided.partitions.push_back(
            {.name = name, .id = divided.id + "/" + name, .gpu_instance = instance});
    }
    Report report;
    report.gpus = {std::move(whole), std::move(divided)};
    return report;
}

Ids tested_on(std::optional<Ids> gpus) {
    Ids ids;
    const auto answer = tested({"vendor=amd"}, std::move(gpus), two_cards());
    EXPECT_TRUE(answer) << answer.error().text;
    for (const auto& term : answer ? answer->terms : std::vector<TestedTerm>{})
        ids.push_back(term.gpu.value_or("none"));
    return ids;
}

TEST(Terms, AreTestedOnAllGpusOrThoseThatAreNamed) {
    EXPECT_EQ(tested_on({}), (Ids{"pci:0000:01:00.0", "pci:0000:02:00.0"}));
    EXPECT_EQ(tested_on(Ids{}), Ids{});
    EXPECT_EQ(tested_on(Ids{"02:00.0", "PCI:0000:02:00.0"}), Ids{"pci:0000:02:00.0"});
}

TEST(Terms, AreTestedOnAUnitThatIsNamed) {
    EXPECT_EQ(tested_on(Ids{"pci:0000:02:00.0/MIG-2"}), Ids{"pci:0000:02:00.0/mig-2"});
}

TEST(Terms, AreNotTestedOnWhatIsNotThere) {
    const auto answer = tested({"vendor=amd"}, Ids{"pci:0000:03:00.0"}, two_cards());
    ASSERT_FALSE(answer);
    EXPECT_EQ(answer.error().code, ErrorCode::UnknownDevice);
}

}  // namespace documents_test
}  // namespace gpuprobe
