// SPDX-License-Identifier: Apache-2.0
#include "policy/document_check.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "policy/fact.h"
#include "policy/known_words.h"
#include "policy/manifest_reading.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace document_check_test {

constexpr std::string_view kVariantPath = "platforms.linux-x86_64.variants.v";

/// A manifest with the variant "v".
std::string manifest_with(std::string_view variant) {
    return R"({"schema":"gpuprobe.variants/1","name":"a","platforms":{"linux-x86_64":{"variants":{"v":)" +
           std::string{variant} + "}}}}";
}

/// An application's data file with that selection.
std::string selection_of(std::string_view members) {
    return R"({"schema":"gpuprobe.application/1","name":"a","description":"d","selection":{)" +
           std::string{members} + "}}";
}

std::vector<std::string> texts_of(const DocumentCheck& check) {
    std::vector<std::string> texts;
    for (const auto& finding : check.findings)
        texts.push_back(text_of(finding));
    return texts;
}

// Mistakes because of which released programs ignore a variant instead of rejecting the file
// ---------------------------------------

struct MistakeRow {
    const char* name;
    std::string variant;
    std::string path;   ///< the path below the variant
    std::string meant;  ///< empty if the problem is only a warning
    std::string place = {};
};

class Mistake : public ::testing::TestWithParam<MistakeRow> {};

TEST_P(Mistake, IsFoundAlthoughProgramsAcceptTheFile) {
    const auto& row = GetParam();
    const auto text = manifest_with(row.variant);
    ASSERT_TRUE(parse_manifest(text));
    const auto check = check_document(text);
    ASSERT_EQ(check.findings.size(), 1U) << ::testing::PrintToString(texts_of(check));
    const auto& finding = check.findings.front();
    EXPECT_EQ(finding.path, std::string{kVariantPath} + "." + row.path);
    EXPECT_EQ(finding.meant.value_or(""), row.meant) << text_of(finding);
    EXPECT_EQ(finding.place.value_or(""), row.place);
    EXPECT_EQ(check.has_mistakes(), !row.meant.empty());
    EXPECT_TRUE(check.is_complete);
    EXPECT_TRUE(check.application);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Mistake,
    ::testing::Values(
        MistakeRow{"HostMember", R"({"requires":{"host":{"glibc-min":"2.28"}}})",
                   "requires.host.glibc-min", "glibc_min"},
        MistakeRow{"Backend", R"({"requires":{"device":{"backend":"cdua"}}})",
                   "requires.device.backend", "cuda"},
        MistakeRow{"BackendOfAnotherName", R"({"requires":{"device":{"backend":"rocm"}}})",
                   "requires.device.backend", "hip"},
        MistakeRow{"UpperCase", R"({"requires":{"device":{"backend":"CUDA"}}})",
                   "requires.device.backend", "cuda"},
        MistakeRow{"CudaMember",
                   R"({"requires":{"device":{"cuda":{"toolkit":"12.0","sm_min":"7.0"}}}})",
                   "requires.device.cuda.sm_min", "sass"},
        MistakeRow{"DeviceMemberOfCuda", R"({"requires":{"device":{"sm_min":"7.0"}}})",
                   "requires.device.sm_min", "sass", "requires.device.cuda"},
        MistakeRow{"ScopeInDevice", R"({"requires":{"device":{"scope":"all"}}})",
                   "requires.device.scope", "scope", "requires"},
        MistakeRow{"DriverInHost", R"({"requires":{"host":{"driver_min":"550"}}})",
                   "requires.host.driver_min", "driver_min", "requires.device"},
        MistakeRow{"HostMemberInRequires", R"({"requires":{"glibc_min":"2.28"}})",
                   "requires.glibc_min", "glibc_min", "requires.host"},
        MistakeRow{"TwoWildDigits", R"({"requires":{"device":{"gfx":["gfx1100","gfx11XX"]}}})",
                   "requires.device.gfx[1]", "gfx110X"},
        MistakeRow{"Target", R"({"requires":{"device":{"gfx":["gfx1104"]}}})",
                   "requires.device.gfx[0]", "gfx1100"},
        MistakeRow{"ArtifactType", R"({"artifact":{"type":"docker","ref":"ghcr.io/a/b"}})",
                   "artifact.type", "oci"},
        MistakeRow{
            "VulkanFeature",
            R"({"requires":{"device":{"vulkan":{"features":["shaderInt8","shaderFloat17"]}}}})",
            "requires.device.vulkan.features[1]", "shaderFloat16"},
        MistakeRow{"CpuFeature", R"({"requires":{"host":{"cpu_features":["avx2x"]}}})",
                   "requires.host.cpu_features[0]", "avx2"},
        MistakeRow{"Vendor", R"({"requires":{"device":{"vendor":["amd","nvdia"]}}})",
                   "requires.device.vendor[1]", "nvidia"},
        MistakeRow{"Kind", R"({"requires":{"device":{"kinds":["discreet"]}}})",
                   "requires.device.kinds[0]", "discrete"},
        MistakeRow{"Libc", R"({"requires":{"host":{"libc":"glib"}}})", "requires.host.libc",
                   "glibc"},
        MistakeRow{"Level", R"({"requires":{"host":{"cpu_level_min":"x86-64-v5"}}})",
                   "requires.host.cpu_level_min", "x86-64-v1"},
        MistakeRow{"Scope", R"({"requires":{"scope":"alll"}})", "requires.scope", "all"},
        MistakeRow{"InAnAlternative",
                   R"({"requires":{"device":[{"backend":"cuda"},{"backend":"vulcan"}]}})",
                   "requires.device[1].backend", "vulkan"},
        MistakeRow{"Advice", R"({"advises":{"host":{"kernel-min":"6.1"}}})",
                   "advises.host.kernel-min", "kernel_min"},
        MistakeRow{"WordInWhere", R"({"requires":{"device":{"where":["vendor=nvidai"]}}})",
                   "requires.device.where[0]", "nvidia"},
        MistakeRow{"NewerMember", R"({"requires":{"host":{"quantum_qubits":12}}})",
                   "requires.host.quantum_qubits", ""},
        MistakeRow{"NewerBackend", R"({"requires":{"device":{"backend":"npu"}}})",
                   "requires.device.backend", ""},
        MistakeRow{"NewerCpuFeature", R"({"requires":{"host":{"cpu_features":["zzqx"]}}})",
                   "requires.host.cpu_features[0]", ""}),
    support::case_name);

TEST(DocumentCheck, HasAWarningForAWordOfANewerProgram) {
    const auto check =
        check_document(manifest_with(R"({"requires":{"device":{"backend":"npu"}}})"));
    EXPECT_FALSE(check.has_mistakes());
    EXPECT_EQ(
        texts_of(check),
        (std::vector<std::string>{
            "platforms.linux-x86_64.variants.v.requires.device.backend: expected one of cuda, hip, "
            "level_zero, opencl, vulkan; a newer version of gpuprobe may support it: npu"}));
}

TEST(DocumentCheck, AcceptsEveryMemberThatARequirementMayHave) {
    const auto check = check_document(manifest_with(R"({
        "family":"f","tier":1,"priority":2,"on_unknown":"accept","note":"n",
        "x-mine":{"glibc-min":1},
        "requires":{"scope":"all","host":{"libc":"glibc","glibc_min":"2.28","kernel_min":"5.4",
          "cpu_level_min":"x86-64-v3","cpu_features":["AVX2","sse3","avx512_bf16","asimddp"],
          "libs":["libcudart.so.12"],"l4t":"R36","memory_min_mib":1},
         "device":{"backend":"vulkan","vendor":["amd","other"],"kinds":["tegra"],"driver_min":"550",
          "cuda":{"toolkit":"13.0","min_driver":"580","sass":["9.0"],"ptx":["9.0@9.1"],"exact":false},
          "cuda_api":{"min":"12.0","below":"13.0"},"gfx":["gfx110X","gfx115X","gfx9-generic","gfx90a:xnack-"],
          "rocm":{"min":"6.0","max":"7.0"},"level_zero":{"ip":["20.1.0"]},"vram_min_mib":1,
          "vulkan":{"instance_min":"1.2","api_min":"1.2","features":["cooperativeMatrix","robustBufferAccess2"],
           "extensions":["VK_KHR_16bit_storage"]}}}})"));
    EXPECT_EQ(texts_of(check), std::vector<std::string>{});
}

TEST(DocumentCheck, AcceptsEveryBuiltInApplication) {
    for (const auto& document : knowledge::builtin_applications()) {
        const auto check = check_document(document.json);
        EXPECT_EQ(texts_of(check), std::vector<std::string>{}) << document.name;
        EXPECT_TRUE(check.application) << document.name;
    }
}

// Checks each member in the table of members: a change of one letter must be found.
TEST(DocumentCheck, FindsAMisspelledMemberOfEveryObject) {
    for (const auto& [place, members] : requirement_members())
        for (const auto& member : members) {
            const auto bad = "q" + member.substr(1);
            std::string variant = "{\"" + bad + "\":{}}";
            const auto steps = split(place, '.');
            for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
                const bool is_cuda = *step == "cuda";
                variant = "{\"" + std::string{*step} + "\":" +
                          (is_cuda ? R"({"toolkit":"12.0",)" + variant.substr(1) : variant) + "}";
            }
            const auto check = check_document(manifest_with(variant));
            ASSERT_FALSE(check.findings.empty()) << variant;
            EXPECT_EQ(check.findings.front().word, bad) << variant;
        }
}

// Several findings
// -----------------------------------------------------------------------------------

TEST(DocumentCheck, ReportsEveryMistakeWithItsPathInTheFile) {
    const auto check = check_document(R"({"schema":"gpuprobe.variants/1","name":"a","platforms":{
        "linux-x86_64":{"defualt":"v","variants":{
          "v":{"teir":5,"requries":{"host":{"glibc-min":"2"}},
               "artifact":{"type":"index","urls":["ftp://a/","https://a/b","gopher://c/"]}},
          "w":{"tier":5000,"requires":{"device":{"cuda":{"toolkits":"12.0"},
               "gfx":["gfx1100","gfx11XX","gfx1030","gfx10YY"]}}}}},
        "linux-sparc":{"variants":{"v":{}}}}})");
    EXPECT_TRUE(check.has_mistakes());
    EXPECT_TRUE(check.is_complete);
    EXPECT_FALSE(check.application) << "programs refuse it";
    std::vector<std::string> paths;
    for (const auto& finding : check.findings)
        paths.push_back(finding.path);
    const std::string platform = "platforms.linux-x86_64";
    const auto v = platform + ".variants.v";
    const auto w = platform + ".variants.w";
    std::ranges::sort(paths);
    EXPECT_EQ(paths,
              (std::vector<std::string>{
                  "platforms.linux-sparc", platform + ".defualt", v + ".artifact.urls[0]",
                  v + ".artifact.urls[2]", v + ".requries", v + ".requries.host.glibc-min",
                  v + ".teir", w + ".requires.device.cuda.toolkits", w + ".requires.device.gfx[1]",
                  w + ".requires.device.gfx[3]", w + ".tier"}));
}

TEST(DocumentCheck, ReportsMistakesOfASelection) {
    const auto check = check_document(selection_of(
        R"("backends":["cdua","vulkan","cpu"],"cpu":"lasst","integrated":"fallback","strict":false,
           "vendors":{"nvdia":["vulkan"]},
           "floors":{"vulkan":["memory>=8GB","vendor=nvdia","gfx=gfx11XX or unknown","glibc>=x"],
                     "cuda13":[]})"));
    std::vector<std::string> paths;
    for (const auto& finding : check.findings)
        paths.push_back(finding.path);
    std::ranges::sort(paths);
    EXPECT_EQ(paths, (std::vector<std::string>{
                         "selection.backends[0]", "selection.cpu", "selection.floors.cuda13",
                         "selection.floors.vulkan[1]", "selection.floors.vulkan[2]",
                         "selection.floors.vulkan[3]", "selection.vendors.nvdia"}))
        << ::testing::PrintToString(texts_of(check));
}

TEST(DocumentCheck, GoesOnAfterABadName) {
    const auto check = check_document(
        R"({"schema":"gpuprobe.variants/1","name":"my program","platforms":{"linux-x86_64":{"variants":{
            "v":{"teir":5}}}}})");
    EXPECT_EQ(texts_of(check),
              (std::vector<std::string>{
                  "name: not a label",
                  "platforms.linux-x86_64.variants.v.teir: unknown member; did you mean 'tier'?"}));
}

TEST(DocumentCheck, StopsAtALimitAndReportsIt) {
    std::string members;
    for (int i = 0; i < 200; ++i)
        members += (i == 0 ? "\"q" : ",\"q") + std::to_string(i) + "\":1";
    const auto check = check_document(manifest_with("{" + members + "}"));
    EXPECT_EQ(check.findings.size(), kMaxDocumentFindings);
    EXPECT_FALSE(check.is_complete);
}

TEST(DocumentCheck, ReportsInvalidJson) {
    for (const auto* text :
         {"", "{", "[]", "1", "null", "\"x\"", R"({"schema":"gpuprobe.application/1"})",
          R"({"schema":"gpuprobe.application/1","name":"a"})", R"({"a":1,"a":2})",
          R"({"schema":1})", R"({"platforms":{}})", R"({"schema":"x/9"})"}) {
        const auto check = check_document(text);
        EXPECT_TRUE(check.has_mistakes()) << text;
        EXPECT_FALSE(check.application) << text;
    }
}

TEST(DocumentCheck, QuotesTextFromTheFile) {
    const auto check = check_document(
        manifest_with("{\"requires\":{\"host\":{\"\\u001b[31m" + std::string(9000, 'x') +
                      "\":1}},\"\\u202etier\":1,\"a.b[0]\":{\"c\":1}}"));
    EXPECT_EQ(check.findings.size(), 3U);
    for (const auto& finding : check.findings) {
        const auto text = text_of(finding);
        EXPECT_EQ(text.find('\x1b'), std::string::npos);
        EXPECT_EQ(text.find("\u202e"), std::string::npos);
        EXPECT_LT(text.size(), 2000U);
    }
}

// The check of a truncated file must end with a finding, at any length of the file.
TEST(DocumentCheck, ReportsAFileThatIsCutAtAnyByte) {
    const auto whole = manifest_with(R"({"requires":{"device":[{"cuda":{"toolkit":"12.0"}}]}})");
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_TRUE(check_document(whole.substr(0, size)).has_mistakes()) << size;
}

// Known words
// ------------------------------------------------------------------------------------------

TEST(KnownWords, IncludeOtherSpellings) {
    for (const auto* word : {"avx2", "AVX2", "sse3", "pni", "lzcnt", "sve2", "amx_int8"})
        EXPECT_TRUE(is_known_word(FactId::CpuFeature, word)) << word;
    for (const auto* word : {"avx2x", "avx3", "avx512vnni", ""})
        EXPECT_FALSE(is_known_word(FactId::CpuFeature, word)) << word;
}

TEST(KnownWords, IncludeFamiliesOfTargetsWithOneWildDigit) {
    for (const auto* word :
         {"gfx1100", "gfx90a", "gfx110X", "gfx115X", "gfx94X", "gfx11*", "gfx11-generic"})
        EXPECT_TRUE(is_known_word(FactId::GfxTarget, word)) << word;
    for (const auto* word : {"gfx11XX", "gfx1X0X", "gfx13X", "gfx1109", "gfx77*", "gfx"})
        EXPECT_FALSE(is_known_word(FactId::GfxTarget, word)) << word;
}

TEST(KnownWords, HaveNoListForMostFacts) {
    EXPECT_TRUE(is_known_word(FactId::KernelDriver, "anything"));
    EXPECT_TRUE(known_words(FactId::Library).empty());
}

}  // namespace document_check_test
}  // namespace gpuprobe
