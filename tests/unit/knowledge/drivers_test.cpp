// SPDX-License-Identifier: Apache-2.0
#include "knowledge/drivers.h"

#include <gtest/gtest.h>

#include "knowledge/library.h"

namespace gpuprobe::test {
namespace drivers_test {

using knowledge::Contexts;

TEST(Contexts, AreThoseOfEachBackendWithTheirSource) {
    const auto* cuda = Contexts::current().find("cuda");
    ASSERT_NE(cuda, nullptr);
    EXPECT_EQ(cuda->context(), mib(523));
    EXPECT_EQ(cuda->program(), mib(7));
    EXPECT_EQ(cuda->source.driver, "NVIDIA 580.159.04");
    EXPECT_EQ(Contexts::current().find("opencl"), nullptr);
}

TEST(Contexts, HaveToBeOfABackendAndOfSomeSource) {
    const auto with = [](const std::string& row) {
        return Contexts::from(R"({"schema":"gpuprobe.contexts/1","backends":[)" + row + "]}");
    };
    EXPECT_TRUE(
        with(R"({"backend":"cuda","context_mib":8192,"program_mib":0,"source":{"how":"seen"}})"));
    for (const auto* row :
         {R"({"backend":"","context_mib":1,"program_mib":0,"source":{"how":"seen"}})",
          R"({"backend":"cuda","context_mib":1,"program_mib":0,"source":{"how":""}})",
          R"({"backend":"cuda","context_mib":8193,"program_mib":0,"source":{"how":"seen"}})",
          R"({"backend":"cuda","context_mib":1,"program_mib":8193,"source":{"how":"seen"}})",
          R"({"backend":"cuda","context_mib":-1,"program_mib":0,"source":{"how":"seen"}})",
          R"({"backend":"cuda","context_mib":1,"program_mib":0})"})
        EXPECT_FALSE(with(row)) << row;
    EXPECT_FALSE(Contexts::from(R"({"schema":"gpuprobe.setup/1"})"));
}

constexpr const char* kOfCuda =
    R"({"backend":"cuda","context_mib":400,"program_mib":1,"source":{"how":"seen"}})";

std::string document_of(const std::string& rows) {
    return R"({"schema":"gpuprobe.contexts/1","backends":[)" + rows + "]}";
}

TEST(Contexts, HaveOneRowForABackend) {
    const auto twice = Contexts::from(document_of(std::string{kOfCuda} + "," + kOfCuda));
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().text, "cuda: named twice");
}

TEST(Contexts, OfADocumentOfOnesOwnLeaveTheOthersAsTheyAre) {
    const auto own = document_of(kOfCuda);
    const auto vulkan = *Contexts::current().find("vulkan");
    knowledge::Library library;
    ASSERT_TRUE(library.add("contexts", {.json = own, .origin = knowledge::Origin::Administrator}));
    knowledge::Library::use(std::make_shared<const knowledge::Library>(std::move(library)));
    EXPECT_EQ(Contexts::current().find("cuda")->context(), mib(400));
    EXPECT_EQ(Contexts::current().find("cuda")->program(), mib(1));
    ASSERT_NE(Contexts::current().find("vulkan"), nullptr);
    EXPECT_EQ(*Contexts::current().find("vulkan"), vulkan);
    knowledge::Library::use(std::make_shared<const knowledge::Library>());
    EXPECT_EQ(Contexts::current().find("cuda")->context(), mib(523));
}

TEST(Drivers, KnowWhichBranchesServeAChip) {
    const auto& drivers = knowledge::Drivers::current();
    const auto last = [&drivers](const char* chip, const char* capability) -> std::string {
        const auto* support = drivers.support("nvidia", chip, capability);
        return support ? support->last.value_or("none") : "unknown";
    };
    EXPECT_EQ(last("gk208b", ""), "470");
    EXPECT_EQ(last("gf100", "2.0"), "390");
    EXPECT_EQ(last("g80", "1.0"), "340");
    EXPECT_EQ(last("gv100", ""), "580");
    EXPECT_EQ(last("tu106", ""), "none");
    EXPECT_EQ(last("", "6.1"), "580") << "by the compute capability";
    EXPECT_EQ(last("", "3.7"), "470");
    EXPECT_EQ(last("", "12.0"), "none");
    EXPECT_EQ(last("", ""), "unknown");
    EXPECT_EQ(drivers.support("nvidia", "gb202", "")->flavour, "open");
    EXPECT_EQ(drivers.support("l4t", "gv11b", "7.2")->last, "35");
    EXPECT_EQ(drivers.support("amdgpu", "navi21", ""), nullptr);
}

}  // namespace drivers_test
}  // namespace gpuprobe::test
