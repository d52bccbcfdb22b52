// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "knowledge/chips.h"

namespace gpuprobe::knowledge {
namespace amd_names_test {

TEST(AmdNames, DistinguishesTheRevisionsOfADevice) {
    const auto& names = AmdNames::current();
    EXPECT_EQ(names.find("744c", "c8"), "AMD Radeon RX 7900 XTX");
    EXPECT_EQ(names.find("744c", "cc"), "AMD Radeon RX 7900 XT");
    EXPECT_EQ(names.find("7551", "c8"), "AMD Radeon AI PRO R9600D");
    EXPECT_EQ(names.find("744c", "01"), std::nullopt);
    EXPECT_EQ(names.find("0000", "c8"), std::nullopt);
    EXPECT_EQ(names.find("", ""), std::nullopt);
}

TEST(AmdNames, AreReadInAnyOrder) {
    const auto names = AmdNames::from(
        R"({"schema":"gpuprobe.amd-names/1","names":[{"device":"2","revision":"c1","name":"b"},)"
        R"({"device":"1","revision":"c2","name":"a"},{"device":"2","revision":"c0","name":"c"}]})");
    ASSERT_TRUE(names) << names.error().text;
    EXPECT_EQ(names->find("2", "c0"), "c");
    EXPECT_EQ(names->find("2", "c1"), "b");
    EXPECT_EQ(names->find("1", "c2"), "a");
}

TEST(AmdNames, RefuseTwoNamesForOneRevisionAndOtherDocuments) {
    for (const auto* wrong :
         {R"({"schema":"gpuprobe.amd-names/1","names":[{"device":"1","revision":"c1","name":"a"},)"
          R"({"device":"1","revision":"c1","name":"b"}]})",
          R"({"schema":"gpuprobe.amd-names/1","names":[{"device":"1","name":"a"}]})",
          R"({"schema":"gpuprobe.chips/1","names":[]})", "{", ""})
        EXPECT_FALSE(AmdNames::from(wrong)) << wrong;
}

}  // namespace amd_names_test
}  // namespace gpuprobe::knowledge
