// SPDX-License-Identifier: Apache-2.0
#include "policy/manifest.h"

#include <gtest/gtest.h>

#include "policy/application_set.h"
#include "support/case_name.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace manifest_test {

using namespace testing_variants;

constexpr const char* kHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// A whole manifest with this variant.
std::string with_variant(const std::string& variant) {
    return R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"v":)" +
           variant + "}}}}";
}
std::string with_requires(const std::string& requirements) {
    return with_variant(R"({"requires":)" + requirements + "}");
}
std::string with_artifact(const std::string& artifact) {
    return with_variant(R"({"artifact":)" + artifact + "}");
}
std::string with_member(const std::string& member) {
    return R"({"schema":"gpuprobe.variants/1","name":"p",)" + member +
           R"(,"platforms":{"linux-x86_64":{"variants":{"v":{}}}}})";
}

struct Bad {
    const char* name;
    std::string json;
    const char* problem;
};
class BadManifest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadManifest, IsRefusedWithItsPlace) {
    const auto manifest = parse_manifest(GetParam().json);
    ASSERT_FALSE(manifest);
    EXPECT_EQ(manifest.error().code, ErrorCode::Malformed);
    EXPECT_EQ(manifest.error().text, std::string{"manifest: "} + GetParam().problem);
}

const std::string kVariantPath = "platforms.linux-x86_64.variants.v";

INSTANTIATE_TEST_SUITE_P(
    Documents,
    BadManifest,
    ::testing::Values(
        Bad{"Nothing", "", "not JSON at byte 1"},
        Bad{"NoJson", "PK\x03\x04", "not JSON at byte 1"},
        Bad{"Cut", R"({"schema":)", "schema: not JSON at byte 11"},
        Bad{"NotANumber", with_requires(R"({"device":{"vram_min_mib":NaN}})"),
            "platforms.linux-x86_64.variants.v.requires.device.vram_min_mib: not JSON at byte 127"},
        Bad{"Infinity", with_requires(R"({"device":{"vram_min_mib":1e999}})"),
            "platforms.linux-x86_64.variants.v.requires.device.vram_min_mib: not JSON at byte 131"},
        Bad{"Array", "[]", "expected object, found array"},
        Bad{"KeyTwice", R"({"schema":"gpuprobe.variants/1","schema":"x"})",
            "schema: a key appears twice"},
        Bad{"VariantTwice",
            R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"v":{},"w":[1,{"v":1,"v":2}]}}}})",
            "platforms.linux-x86_64.variants.w[1].v: a key appears twice"},
        Bad{"OtherSchema", R"({"schema":"gpuprobe.variants/2"})",
            "schema: expected gpuprobe.application/1 or gpuprobe.variants/1"},
        Bad{"NoName",
            R"({"schema":"gpuprobe.variants/1","platforms":{"linux-x86_64":{"variants":{"v":{}}}}})",
            "name: missing"},
        Bad{"NoPlatforms", R"({"schema":"gpuprobe.variants/1","name":"p"})", "platforms: missing"},
        Bad{"UnknownMember", with_member(R"("surprise":1)"), "surprise: unknown member"},
        Bad{"NameIsNoLabel", R"({"schema":"gpuprobe.variants/1","name":"../etc"})",
            "name: not a label"},
        Bad{"NoInstant", with_member(R"("expires":"tomorrow")"),
            "expires: expected a time such as 2026-08-22T00:00:00Z"},
        Bad{"NoSuchDay", with_member(R"("issued":"2026-02-30T00:00:00Z")"),
            "issued: expected a time such as 2026-08-22T00:00:00Z"},
        Bad{"Controls", with_member(R"("version":"1\u202e2")"), "version: has control characters"},
        Bad{"EscapeSequence", with_member(R"("version":"\u001b[2J")"),
            "version: has control characters"},
        Bad{"RulesAreNoVersion", with_member(R"("rules":"new")"), "rules: malformed"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Platforms,
    BadManifest,
    ::testing::Values(
        Bad{"NoPlatform", R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{}})",
            "platforms: needs 1 to 64 platforms"},
        Bad{"OtherSystem",
            R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"darwin-arm64":{"variants":{"v":{}}}}})",
            "platforms.darwin-arm64: expected a platform such as linux-x86_64 or linux-arm64-musl"},
        Bad{"SameTwice",
            R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"v":{}}},"linux-amd64":{"variants":{"v":{}}}}})",
            "platforms.linux-amd64: the same platform as linux-x86_64"},
        Bad{"NoVariants",
            R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{}}}})",
            "platforms.linux-x86_64.variants: needs 1 to 512 variants"},
        Bad{"NoSuchDefault",
            R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"default":"w","variants":{"v":{}}}}})",
            "platforms.linux-x86_64.default: does not name a variant"},
        Bad{"LabelWithSpace",
            R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"a b":{}}}}})",
            R"(platforms.linux-x86_64.variants["a b"]: not a label)"},
        Bad{"LabelWithControls",
            "{\"schema\":\"gpuprobe.variants/1\",\"name\":\"p\",\"platforms\":{\"linux-x86_64\":{"
            "\"variants\":{\"a\\u202eb\":{}}}}}",
            "platforms.linux-x86_64.variants[\"a\xef\xbf\xbd"
            "b\"]: not a label"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Variants,
    BadManifest,
    ::testing::Values(
        Bad{"UnknownMember", with_variant(R"({"surprise":1})"),
            "platforms.linux-x86_64.variants.v.surprise: unknown member"},
        Bad{"Tier", with_variant(R"({"tier":1001})"),
            "platforms.linux-x86_64.variants.v.tier: number out of range"},
        Bad{"NegativeTier", with_variant(R"({"tier":-1})"),
            "platforms.linux-x86_64.variants.v.tier: number out of range"},
        Bad{"FractionalPriority", with_variant(R"({"priority":1.5})"),
            "platforms.linux-x86_64.variants.v.priority: expected integer, found number"},
        Bad{"HugePriority", with_variant(R"({"priority":99999999999})"),
            "platforms.linux-x86_64.variants.v.priority: number out of range"},
        Bad{"OnUnknown", with_variant(R"({"on_unknown":"maybe"})"),
            "platforms.linux-x86_64.variants.v.on_unknown: "
            "expected 'reject', 'accept' or a list of requirements"},
        Bad{"Variable", with_variant(R"({"env":{"A=B":"1"}})"),
            R"(platforms.linux-x86_64.variants.v.env["A=B"]: not the name of a variable)"},
        Bad{"VariableThatLoadsCode", with_variant(R"({"env":{"LD_PRELOAD":"/tmp/evil.so"}})"),
            "platforms.linux-x86_64.variants.v.env.LD_PRELOAD: a data file must not name this "
            "variable; only variables that choose GPUs are allowed, such as P_GPU"},
        Bad{"VariableThatLoadsAFile", with_variant(R"({"env":{"OCL_ICD_VENDORS":"/tmp"}})"),
            "platforms.linux-x86_64.variants.v.env.OCL_ICD_VENDORS: this variable loads files: its "
            "value must be {opencl_vendor} or /nonexistent"},
        Bad{"NewlineInVariable", with_variant(R"({"env":{"A":"1\nB=2"}})"),
            "platforms.linux-x86_64.variants.v.env.A: has control characters"},
        Bad{"ShorthandBesideArtifact",
            with_variant(R"({"artifact":{"type":"dir"},"url":"https://a/b"})"),
            "platforms.linux-x86_64.variants.v.url: not allowed with an artifact"},
        Bad{"HashWithoutUrl", with_variant(std::string{R"({"sha256":")"} + kHash + "\"}"),
            "platforms.linux-x86_64.variants.v.url: missing"},
        Bad{"UrlWithoutHash", with_variant(R"({"url":"https://a/b"})"),
            "platforms.linux-x86_64.variants.v.sha256: missing"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Requirements,
    BadManifest,
    ::testing::Values(
        Bad{"NoObject", with_requires("[]"),
            "platforms.linux-x86_64.variants.v.requires: expected object, found array"},
        Bad{"Version", with_requires(R"({"host":{"glibc_min":"NaN"}})"),
            "platforms.linux-x86_64.variants.v.requires.host.glibc_min: expected a version of one "
            "to four numbers"},
        Bad{"AbsurdVersion", with_requires(R"({"device":{"driver_min":"99999999999999999999"}})"),
            "platforms.linux-x86_64.variants.v.requires.device.driver_min: expected a version of "
            "one to four numbers"},
        Bad{"VersionAsANumber", with_requires(R"({"device":{"driver_min":580}})"),
            "platforms.linux-x86_64.variants.v.requires.device.driver_min: expected string, found "
            "integer"},
        Bad{"Backend", with_requires(R"({"device":{"backend":"nvml"}})"),
            "platforms.linux-x86_64.variants.v.requires.device.backend: expected one of cuda, hip, "
            "level_zero, opencl, vulkan"},
        Bad{"Vendor", with_requires(R"({"device":{"vendor":["amd","n vida"]}})"),
            "platforms.linux-x86_64.variants.v.requires.device.vendor[1]: unknown word"},
        Bad{"Kind", with_requires(R"({"device":{"kinds":[""]}})"),
            "platforms.linux-x86_64.variants.v.requires.device.kinds[0]: unknown word"},
        Bad{"Capability",
            with_requires(R"({"device":[{},{"cuda":{"toolkit":"12.0","sass":["sm_90"]}}]})"),
            "platforms.linux-x86_64.variants.v.requires.device[1].cuda.sass[0]: expected a "
            "compute capability such as 9.0"},
        Bad{"CudaWithoutToolkit", with_requires(R"({"device":{"cuda":{"sass":["9.0"]}}})"),
            "platforms.linux-x86_64.variants.v.requires.device.cuda.toolkit: missing"},
        Bad{"Gfx", with_requires(R"({"device":{"gfx":["1100"]}})"),
            "platforms.linux-x86_64.variants.v.requires.device.gfx[0]: expected a gfx target such "
            "as gfx1100"},
        Bad{"NoAlternative", with_requires(R"({"device":[]})"),
            "platforms.linux-x86_64.variants.v.requires.device: needs 1 to 16 alternatives"},
        Bad{"Scope", with_requires(R"({"scope":"most of"})"),
            "platforms.linux-x86_64.variants.v.requires.scope: expected 'any' or 'all'"},
        Bad{"Level", with_requires(R"({"host":{"cpu_level_min":"x86-64 v5"}})"),
            "platforms.linux-x86_64.variants.v.requires.host.cpu_level_min: expected x86-64-v1 to "
            "x86-64-v4"},
        Bad{"Libc", with_requires(R"({"host":{"libc":"uc libc"}})"),
            "platforms.linux-x86_64.variants.v.requires.host.libc: expected glibc, musl or static"},
        Bad{"L4t", with_requires(R"({"host":{"l4t":"36"}})"),
            "platforms.linux-x86_64.variants.v.requires.host.l4t: expected a release of Jetson "
            "Linux such as R36"},
        Bad{"NegativeMemory", with_requires(R"({"device":{"vram_min_mib":-1}})"),
            "platforms.linux-x86_64.variants.v.requires.device.vram_min_mib: expected non-negative "
            "integer, found integer"},
        Bad{"MemoryThatOverflows",
            with_requires(R"({"device":{"vram_min_mib":18446744073709551615}})"),
            "platforms.linux-x86_64.variants.v.requires.device.vram_min_mib: number out of range"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Artifacts,
    BadManifest,
    ::testing::Values(
        Bad{"NoType", with_artifact("{}"),
            "platforms.linux-x86_64.variants.v.artifact.type: missing"},
        Bad{"OtherType", with_artifact(R"({"type":"tor rent"})"),
            "platforms.linux-x86_64.variants.v.artifact.type: expected file, index, oci, dir, "
            "package or wheel"},
        Bad{"FileWithoutHash", with_artifact(R"({"type":"file","urls":["https://a/b"]})"),
            "platforms.linux-x86_64.variants.v.artifact.sha256: missing"},
        Bad{"ImageWithoutName", with_artifact(R"({"type":"oci"})"),
            "platforms.linux-x86_64.variants.v.artifact.ref: missing"},
        Bad{"LocalFile", with_artifact(R"({"type":"index","urls":["file:///etc/shadow"]})"),
            "platforms.linux-x86_64.variants.v.artifact.urls[0]: not an https or http URL"},
        Bad{"NoHost", with_artifact(R"({"type":"index","urls":["https://a/b","https:///c"]})"),
            "platforms.linux-x86_64.variants.v.artifact.urls[1]: not a URL"},
        Bad{"SpaceInUrl", with_artifact(R"({"type":"index","urls":["https://a/b c"]})"),
            "platforms.linux-x86_64.variants.v.artifact.urls[0]: not a URL"},
        Bad{"ZeroHash",
            with_artifact(R"({"type":"file","urls":["https://a/b"],"sha256":")" +
                          std::string(64, '0') + "\"}"),
            "platforms.linux-x86_64.variants.v.artifact.sha256: a placeholder: all zero"},
        Bad{"ShortHash", with_artifact(R"({"type":"file","urls":["https://a/b"],"sha256":"ab"})"),
            "platforms.linux-x86_64.variants.v.artifact.sha256: not 64 lower-case hexadecimal "
            "digits"},
        Bad{"ZeroDigest",
            with_artifact(R"({"type":"oci","ref":"a","digest":"sha256:)" + std::string(64, '0') +
                          "\"}"),
            "platforms.linux-x86_64.variants.v.artifact.digest: a placeholder: all zero"},
        Bad{"NegativeSize", with_artifact(R"({"type":"dir","size":-1})"),
            "platforms.linux-x86_64.variants.v.artifact.size: expected non-negative integer, found "
            "integer"},
        Bad{"NoSuchCompanion", with_artifact(R"({"type":"dir","companions":["w"]})"),
            "platforms.linux-x86_64.variants.v.artifact.companions: does not name a variant"},
        Bad{"UnknownMember", with_artifact(R"({"type":"dir","mirror":"x"})"),
            "platforms.linux-x86_64.variants.v.artifact.mirror: unknown member"}),
    support::case_name);

std::string of_variants(std::size_t count) {
    std::string variants;
    for (std::size_t i = 0; i < count; ++i)
        variants += (i == 0 ? "\"v" : ",\"v") + std::to_string(i) + "\":{}";
    return R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{)" +
           variants + "}}}}";
}

TEST(ManifestLimit, OfVariantsIsPerPlatform) {
    EXPECT_TRUE(parse_manifest(of_variants(kMaxVariants)));
    const auto more = parse_manifest(of_variants(kMaxVariants + 1));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().text,
              "manifest: platforms.linux-x86_64.variants: needs 1 to 512 variants");
}

TEST(ManifestLimit, OfTheTextIsOneMebibyte) {
    const auto manifest = of_variants(1);
    EXPECT_TRUE(parse_manifest(manifest + std::string(kMaxManifest.count - manifest.size(), ' ')));
    const auto more =
        parse_manifest(manifest + std::string(kMaxManifest.count - manifest.size() + 1, ' '));
    ASSERT_FALSE(more);
    EXPECT_EQ(more.error().code, ErrorCode::TooLarge);
    EXPECT_FALSE(parse_manifest(std::string(mib(2).count, ' ')));
}

TEST(ManifestLimit, OfDepthNamesThePlace) {
    std::string deep = R"({"schema":"gpuprobe.variants/1","x-a":)";
    deep += std::string(10000, '[');
    const auto manifest = parse_manifest(deep);
    ASSERT_FALSE(manifest);
    EXPECT_EQ(manifest.error().code, ErrorCode::Malformed);
    EXPECT_TRUE(manifest.error().text.starts_with("manifest: x-a[0][0]")) << manifest.error().text;
    EXPECT_TRUE(manifest.error().text.ends_with("nested too deeply"));
    EXPECT_LT(manifest.error().text.size(), 400U);
}

TEST(ManifestLimit, OfAlternativesIsSixteen) {
    const auto of_alternatives = [](int count) {
        std::string list;
        for (int i = 0; i < count; ++i)
            list += i == 0 ? "{}" : ",{}";
        return with_requires(R"({"device":[)" + list + "]}");
    };
    EXPECT_TRUE(parse_manifest(of_alternatives(16)));
    EXPECT_FALSE(parse_manifest(of_alternatives(17)));
}

TEST(Manifest, IsRefusedWhereverItIsCut) {
    const auto whole = file("/tests/data/variants/manifests/tsuku-llm.json");
    const auto end = whole.find_last_of('}');
    for (std::size_t cut = 0; cut <= end; ++cut)
        EXPECT_FALSE(parse_manifest(whole.substr(0, cut))) << cut;
    EXPECT_TRUE(parse_manifest(whole));
}

TEST(Manifest, SurvivesEachByteChanged) {
    const auto whole = file("/tests/data/variants/manifests/tsuku-draft.json");
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const char byte : {'\0', '"', '{', '\xff', '9'}) {
            auto changed = whole;
            changed[i] = byte;
            if (const auto manifest = parse_manifest(changed))
                (void)recommend(*manifest, {}, machine("G23"), rules());
        }
}

TEST(Manifest, HasItsHash) {
    const auto manifest = parse_manifest(of_variants(1)).value();
    EXPECT_EQ(manifest.sha256.size(), 64U);
    EXPECT_NE(manifest.sha256, parse_manifest(of_variants(1) + "\n").value().sha256);
}

class SampleManifest : public ::testing::TestWithParam<const char*> {};
TEST_P(SampleManifest, IsRead) {
    EXPECT_FALSE(sample(GetParam()).platforms.empty());
}
INSTANTIATE_TEST_SUITE_P(Table,
                         SampleManifest,
                         ::testing::Values("jax",
                                           "llama-app",
                                           "llama-docker",
                                           "llama.cpp",
                                           "localai",
                                           "ollama",
                                           "torch-2.13",
                                           "torch-uv",
                                           "tsuku-draft",
                                           "tsuku-llm",
                                           "tsuku-llm-recipe"));

// tsuku's own formats ---------------------------------------------------------------------------

TEST(TsukuManifest, OfTwoLevelsImpliesWhatTheNamesSay) {
    const auto manifest = parse_manifest(std::string{R"({"version":"0.2.0","platforms":{
        "darwin-arm64":{"default":"metal","variants":{"metal":{"url":"https://a/m","sha256":")"} +
                                         kHash + R"("}}},
        "linux-amd64":{"default":"cpu","variants":{
            "cuda":{"url":"https://a/cuda","sha256":")" +
                                         kHash + R"("},
            "vulkan":{"url":"https://a/vulkan","sha256":")" +
                                         kHash + R"("},
            "cpu":{"url":"https://a/cpu","sha256":")" +
                                         kHash + R"("}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    ASSERT_EQ(manifest->platforms.size(), 1U);
    const auto answer = recommend(*manifest, {}, machine("G23"), rules());
    EXPECT_EQ(answer.variant, "cuda");
    EXPECT_EQ(answer.fallback, (std::vector<std::string>{"vulkan", "cpu"}));
    EXPECT_EQ(answer.artifact.at("type"), Value{"file"});
    EXPECT_EQ(answer.artifact.at("urls"), Value{Value::Array{Value{"https://a/cuda"}}});
    EXPECT_EQ(answer.artifact.at("sha256"), Value{kHash});
    EXPECT_EQ(recommend(*manifest, {}, machine("G25"), rules()).variant, "cpu");
}

/// If a variant contains a word from a newer release, only this variant is lost.
struct NewWord {
    const char* name;
    const char* variant;
    const char* word;
};
class NewerManifest : public ::testing::TestWithParam<NewWord> {};

TEST_P(NewerManifest, LosesOnlyThatVariant) {
    const auto manifest = parse_manifest(
        R"({"schema":"gpuprobe.variants/1","name":"p","platforms":{"linux-x86_64":{"variants":{"v":)" +
        std::string{GetParam().variant} + R"(,"cpu":{"tier":0}}}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    const auto answer = recommend(*manifest, {}, machine("G02"), rules());
    EXPECT_EQ(answer.variant, "cpu");
    const auto& reasons = candidate(answer, "v")->reasons;
    ASSERT_FALSE(reasons.empty());
    EXPECT_TRUE(std::ranges::any_of(reasons, [](const Reason& reason) {
        return reason.is("unsupported-predicate") &&
               reason.detail.at("predicate") == Value{GetParam().word};
    }));
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    NewerManifest,
    ::testing::Values(
        NewWord{"Backend", R"({"tier":9,"requires":{"device":{"backend":"npu"}}})", "backend=npu"},
        NewWord{"Kinds", R"({"tier":9,"requires":{"device":{"kinds":["npu","dpu"]}}})",
                "kinds=npu,dpu"},
        NewWord{"Vendor", R"({"tier":9,"requires":{"device":{"vendor":["acme"]}}})", "vendor=acme"},
        NewWord{"Level", R"({"tier":9,"requires":{"host":{"cpu_level_min":"x86-64-v5"}}})",
                "cpu_level_min=x86-64-v5"},
        NewWord{"Libc", R"({"tier":9,"requires":{"host":{"libc":"bionic"}}})", "libc=bionic"},
        NewWord{"Scope", R"({"tier":9,"requires":{"scope":"most"}})", "scope=most"},
        NewWord{"Artifact", R"({"tier":9,"artifact":{"type":"torrent"}})",
                "artifact.type=torrent"}),
    support::case_name);

/// If a list allows alternatives, an unknown word is ignored and the other words are kept.
TEST(NewerManifests, KeepAWordBesideOneThatIsNotKnown) {
    const auto manifest = parse_manifest(
        with_requires(R"({"device":{"vendor":["acme","nvidia"],"kinds":["npu","discrete"]}})"));
    ASSERT_TRUE(manifest) << manifest.error().text;
    EXPECT_EQ(recommend(*manifest, {}, machine("G02"), rules()).variant, "v");
}

TEST(TsukuManifest, FlatHasOneVariant) {
    const auto manifest = parse_manifest(std::string{R"({"platforms":{"linux-amd64":{
        "url":"https://a/b","sha256":")"} +
                                         kHash + R"("}}})");
    ASSERT_TRUE(manifest) << manifest.error().text;
    EXPECT_EQ(recommend(*manifest, {}, machine("G25"), rules()).variant, "default");
}

INSTANTIATE_TEST_SUITE_P(
    Tsuku,
    BadManifest,
    ::testing::Values(
        Bad{"ZeroHash",
            R"({"platforms":{"linux-amd64":{"url":"https://a/b","sha256":")" +
                std::string(64, '0') + R"("}}})",
            "platforms.linux-amd64.sha256: a placeholder: all zero"},
        Bad{"LocalFile",
            std::string{R"({"platforms":{"linux-amd64":{"url":"file:///b","sha256":")"} + kHash +
                R"("}}})",
            "platforms.linux-amd64.url: not an https or http URL"},
        Bad{"NeitherForm", R"({"platforms":{"linux-amd64":{"default":"cpu"}}})",
            "platforms.linux-amd64.default: unknown member"},
        Bad{"LinuxMisspelt", R"({"platforms":{"linux-x64":{}}})",
            "platforms.linux-x64: expected a platform such as linux-x86_64 or linux-arm64-musl"}),
    support::case_name);

}  // namespace manifest_test
}  // namespace gpuprobe
