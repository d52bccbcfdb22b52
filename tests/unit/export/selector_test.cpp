// SPDX-License-Identifier: Apache-2.0
#include "export/selector.h"

#include "base/value.h"
#include "export/subject.h"
#include "partition/export/fleet.h"
#include "policy/application_set.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace {

using namespace testing_fleet;

/// The need of a variant with this `requires`, on linux-x86_64.
Result<FleetNeed> need_of(const std::string& requirements) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"v":)"
        R"({"requires":)" +
        requirements + R"(,"artifact":{"type":"oci","ref":"x"}}}}}})");
    EXPECT_TRUE(manifest) << manifest.error().text;
    const auto& platform = manifest->platforms.front();
    return fleet_need_of(platform, platform.variants.front(), rules());
}

const std::string kCuda =
    R"({"host":{"glibc_min":"2.35"},"device":{"backend":"cuda","vendor":["nvidia"],)"
    R"("cuda":{"toolkit":"13.0","sass":["7.5","8.0","9.0"],"exact":true},"vram_min_mib":81920}})";
const std::string kVulkan =
    R"({"device":{"backend":"vulkan","kinds":["discrete","integrated","tegra"],)"
    R"("vulkan":{"instance_min":"1.2","features":["shaderFloat16"]}}})";

std::string asked(const char* engine, const std::string& requirements) {
    const auto need = need_of(requirements);
    EXPECT_TRUE(need) << need.error().text;
    const auto query = orchestrator(engine)->ask(*need, rules(), {});
    EXPECT_TRUE(query) << query.error().text;
    return query ? query->text : "";
}

TEST(FleetNeed, HoldsWhatExportsTell) {
    const auto need = need_of(kCuda);
    ASSERT_TRUE(need);
    ASSERT_EQ(need->gpus.size(), 1U);
    EXPECT_EQ(need->gpus[0].targets, (std::set<std::string>{"sm_75", "sm_80", "sm_90"}));
    EXPECT_EQ(need->gpus[0].driver, (Version{{580}}));
    EXPECT_EQ(need->gpus[0].memory, gib(80));
    EXPECT_EQ(need->host.glibc, (Version{{2, 35}}));
    EXPECT_TRUE(need->beyond.empty());
}

TEST(FleetNeed, NamesWhatNoExportTells) {
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

TEST(FleetNeed, RefusesWhatRunsNowhere) {
    EXPECT_EQ(need_of(R"({"quantum":{"qubits":5}})").error().code, ErrorCode::NoMatch);
    EXPECT_EQ(need_of(R"({"device":{"backend":"cuda","cuda":{"toolkit":"12.4","sass":["99.0"]}}})")
                  .error()
                  .code,
              ErrorCode::NoMatch);
}

TEST(NfdQuery, HasATermForEachTarget) {
    const auto document = parse_json(asked("nfd", kCuda), mib(1));
    ASSERT_TRUE(document);
    const auto& terms = *document->at("nodeSelectorTerms").as_array();
    ASSERT_EQ(terms.size(), 3U);
    const auto text = json_line(terms[2]);
    for (const auto* part : {R"("key":"kubernetes.io/arch","operator":"In","values":["amd64"])",
                             R"(/host.glibc.minor","operator":"Gt","values":["34"])",
                             R"(/api.cuda.sm_90","operator":"Exists")",
                             R"(/driver.nvidia.major","operator":"Gt","values":["579"])",
                             R"(/memory.sm_90.min-gib","operator":"Gt","values":["79"])"})
        EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(NfdQuery, AsksThatNoOtherGpuIsThere) {
    const auto text = asked("nfd", kVulkan);
    EXPECT_NE(text.find("gpu.virtual.count"), std::string::npos);
    EXPECT_NE(text.find("DoesNotExist"), std::string::npos);
    EXPECT_NE(text.find("\"1.9\""), std::string::npos);
    EXPECT_EQ(text.find("\"1.1\""), std::string::npos);
}

TEST(SlurmQuery, AsksForWordsThatTheClusterHas) {
    const auto need = need_of(kCuda);
    const std::vector<std::string> known{"cuda",        "cuda_sm90", "cuda_sm70",
                                         "cuda_drv580", "cuda_drv9", "glibc2.36",
                                         "glibc2.31",   "x86_64",    "gpus-physical"};
    const auto query = slurm_query(*need, rules(), known);
    ASSERT_TRUE(query);
    EXPECT_EQ(query->text,
              "--constraint='cuda_sm90&cuda_drv580&gpus-physical&x86_64&glibc2.36' --gres=gpu:1\n");
    EXPECT_EQ(codes(query->weaker), std::vector<std::string>{"weaker"});
    EXPECT_EQ(query->stronger.size(), 1U);
}

TEST(SlurmQuery, FindsNothingWhereNoNodeFits) {
    EXPECT_FALSE(slurm_query(*need_of(kCuda), rules(), {"cuda_sm90", "glibc2.36", "x86_64"}));
}

TEST(SlurmQuery, ListsAllThatMayBeWithoutAList) {
    const auto text = asked("slurm", kCuda);
    EXPECT_NE(text.find("(cuda_sm75|cuda_sm80|cuda_sm90)&(cuda_drv580"), std::string::npos) << text;
    EXPECT_NE(text.find("glibc2.35|glibc2.36"), std::string::npos) << text;
}

struct Left {
    const char* name;
    const char* engine;
    std::string requirements;
    std::vector<std::string> weaker;
};
class Weaker : public ::testing::TestWithParam<Left> {};

/// Nothing that is needed is dropped in silence.
TEST_P(Weaker, IsSaid) {
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
    testing::case_name);

}  // namespace
}  // namespace gpuprobe
