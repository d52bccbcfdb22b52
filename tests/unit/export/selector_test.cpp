// SPDX-License-Identifier: Apache-2.0
#include "export/selector.h"

#include "base/value.h"
#include "export/subject.h"
#include "policy/application_set.h"
#include "support/case_name.h"
#include "unit/export/needs.h"

namespace gpuprobe {
namespace selector_test {

using namespace testing_fleet;

TEST(FleetNeed, ContainsOnlyExportedFacts) {
    const auto need = need_of(kCuda);
    ASSERT_TRUE(need);
    ASSERT_EQ(need->gpus.size(), 1U);
    EXPECT_EQ(need->gpus[0].targets, (std::set<std::string>{"sm_75", "sm_80", "sm_90"}));
    EXPECT_EQ(need->gpus[0].driver, (Version{{580}}));
    EXPECT_EQ(need->gpus[0].memory, gib(80));
    EXPECT_EQ(need->host.glibc, (Version{{2, 35}}));
    EXPECT_TRUE(need->beyond.empty());
}

TEST(FleetNeed, NamesNeedsThatNoExportContains) {
    EXPECT_EQ(need_of(kVulkan)->beyond, std::vector<std::string>{"vulkan.features: shaderFloat16"});
    EXPECT_EQ(need_of(R"({"host":{"libs":["libsycl.so.8"]}})")->beyond,
              std::vector<std::string>{"libs: libsycl.so.8"});
}

TEST(FleetNeed, AsksForANewerDriverWhereThereIsPtxOnly) {
    const auto need = need_of(
        R"({"device":{"backend":"cuda","cuda":{"toolkit":"12.4","sass":["9.0"],"ptx":["9.0"]}}})");
    ASSERT_TRUE(need);
    ASSERT_EQ(need->gpus.size(), 2U);
    EXPECT_EQ(need->gpus[0].targets, std::set<std::string>{"sm_90"});
    EXPECT_EQ(need->gpus[0].driver->major(), 525U);
    EXPECT_TRUE(need->gpus[1].targets->contains("sm_120"));
    EXPECT_FALSE(need->gpus[1].targets->contains("sm_90"));
    EXPECT_EQ(need->gpus[1].driver->major(), 550U);
}

TEST(FleetNeed, RefusesVariantsThatRunNowhere) {
    EXPECT_EQ(need_of(R"({"quantum":{"qubits":5}})").error().code, ErrorCode::NoMatch);
    EXPECT_EQ(need_of(R"({"device":{"backend":"cuda","cuda":{"toolkit":"12.4","sass":["99.0"]}}})")
                  .error()
                  .code,
              ErrorCode::NoMatch);
}

struct Left {
    const char* name;
    const char* engine;
    std::string requirements;
    std::vector<std::string> weaker;
};
class Weaker : public ::testing::TestWithParam<Left> {};

/// No needed data is dropped without a note.
TEST_P(Weaker, IsReported) {
    const auto query =
        orchestrator(GetParam().engine)->ask(*need_of(GetParam().requirements), rules(), {});
    ASSERT_TRUE(query);
    std::vector<std::string> texts;
    for (const auto& remark : query->weaker)
        texts.push_back(remark.text);
    EXPECT_EQ(texts, GetParam().weaker);
}

const std::string kHost =
    R"({"host":{"kernel_min":"6.1","cpu_features":["avx2","f16c"],"l4t":"R36"}})";
INSTANTIATE_TEST_SUITE_P(
    Table,
    Weaker,
    ::testing::Values(
        Left{"NfdHost", "nfd", kHost, {"l4t: R36", "kernel_min: 6.1", "cpu_features: f16c"}},
        Left{"SlurmHost",
             "slurm",
             kHost,
             {"l4t: R36", "kernel_min: 6.1", "cpu_features: avx2", "cpu_features: f16c"}},
        Left{"SlurmKinds", "slurm", kVulkan, {"vulkan.features: shaderFloat16"}},
        Left{"NfdMemory", "nfd", kCuda, {}},
        Left{"SlurmMemory", "slurm", kCuda, {"vram_min_mib: 81920"}}),
    support::case_name);

}  // namespace selector_test
}  // namespace gpuprobe
