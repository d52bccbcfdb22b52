// SPDX-License-Identifier: Apache-2.0
#include "policy/manifest_reading.h"

#include <gtest/gtest.h>

#include "policy/decision.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace manifest_reading_test {

constexpr const char* kHash = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

Value json(std::string_view text) {
    auto value = parse_json(text, kib(64));
    EXPECT_TRUE(value) << text;
    return value ? *value : Value{};
}

// Labels ------------------------------------------------------------------------------------------

TEST(Label, HasLettersDigitsAndSixSigns) {
    for (const auto* good : {"a", "Z9", "7", "cuda-12.4", "v1_2+rocm:6/x", "a------"})
        EXPECT_TRUE(is_label(good)) << good;
    for (const auto* bad : {"", "-a", ".a", "_a", "/a", "a b", "a,b", "a\n", "\xc3\xa4", "a=b"})
        EXPECT_FALSE(is_label(bad)) << bad;
}

TEST(Label, HasAtMost128Bytes) {
    EXPECT_TRUE(is_label(std::string(128, 'a')));
    EXPECT_FALSE(is_label(std::string(129, 'a')));
}

TEST(PathPart, QuotesAndShortensWhatIsNoPlainKey) {
    EXPECT_EQ(path_part("glibc_min"), "glibc_min");
    EXPECT_EQ(path_part("linux-x86_64"), "linux-x86_64");
    EXPECT_EQ(path_part(""), "[\"\"]");
    EXPECT_EQ(path_part("a.b"), "[\"a.b\"]");
    EXPECT_EQ(path_part(std::string(64, 'a')), std::string(64, 'a'));
    EXPECT_LE(path_part(std::string(500, 'a')).size(), 64U + 4U);
    EXPECT_EQ(path_part("a\x1b[31m").find('\x1b'), std::string::npos);
}

// Strings -----------------------------------------------------------------------------------------

TEST(PlainText, HasALimitAndNoControlCharacters) {
    std::string text = "before";
    EXPECT_EQ(read_plain_text(Value{"abc"}, text, 3).text(), "");
    EXPECT_EQ(text, "abc");
    EXPECT_EQ(read_plain_text(Value{"\xc3\xa4"}, text, 3).text(), "");
    EXPECT_EQ(read_plain_text(Value{"abcd"}, text, 3).text(), "more than 3 bytes");
    EXPECT_EQ(read_plain_text(Value{1}, text, 3).text(), "expected string, found integer");
    for (const auto* bad : {"a\n", "\x1b", "\x7f", "a\t"})
        EXPECT_EQ(read_plain_text(Value{bad}, text, 3).text(), "has control characters") << bad;
    EXPECT_EQ(text, "\xc3\xa4") << "a problem leaves the text unchanged";
}

struct TextRow {
    const char* name;
    std::string text;
    const char* problem;
};

class Sha256 : public ::testing::TestWithParam<TextRow> {};

TEST_P(Sha256, IsSixtyFourLowerCaseDigits) {
    EXPECT_EQ(check_sha256(Value{GetParam().text}).text(), GetParam().problem);
}

constexpr const char* kNoHash = "not 64 lower-case hexadecimal digits";

INSTANTIATE_TEST_SUITE_P(Table,
                         Sha256,
                         ::testing::Values(TextRow{"Hash", kHash, ""},
                                           TextRow{"LastDigitOnly", std::string(63, '0') + "1", ""},
                                           TextRow{"Zeros", std::string(64, '0'),
                                                   "a placeholder: all zero"},
                                           TextRow{"Short", std::string(63, 'a'), kNoHash},
                                           TextRow{"Long", std::string(65, 'a'), kNoHash},
                                           TextRow{"UpperCase", std::string(64, 'A'), kNoHash},
                                           TextRow{"NotHexadecimal", std::string(64, 'g'), kNoHash},
                                           TextRow{"Empty", "", kNoHash}),
                         support::case_name);

class Url : public ::testing::TestWithParam<TextRow> {};

TEST_P(Url, IsHttpWithAHost) {
    EXPECT_EQ(check_url(Value{GetParam().text}).text(), GetParam().problem);
}

constexpr const char* kOtherScheme = "not an https or http URL";

INSTANTIATE_TEST_SUITE_P(
    Table,
    Url,
    ::testing::Values(TextRow{"Https", "https://example.org/a.tar.gz", ""},
                      TextRow{"Http", "http://example.org", ""},
                      TextRow{"WithQuery", "https://example.org/?a=b&c=%20#d", ""},
                      TextRow{"Longest", "https://e/" + std::string(2048 - 10, 'a'), ""},
                      TextRow{"TooLong", "https://e/" + std::string(2048 - 9, 'a'),
                              "more than 2048 bytes"},
                      TextRow{"File", "file:///etc/passwd", kOtherScheme},
                      TextRow{"NoScheme", "example.org/a", kOtherScheme},
                      TextRow{"UpperCaseScheme", "HTTPS://example.org", kOtherScheme},
                      TextRow{"Empty", "", kOtherScheme},
                      TextRow{"NoHost", "https://", "not a URL"},
                      TextRow{"OnlyAPath", "https:///a", "not a URL"},
                      TextRow{"Space", "https://example.org/a b", "not a URL"},
                      TextRow{"Quote", "https://example.org/\"", "not a URL"},
                      TextRow{"Brace", "https://example.org/{a}", "not a URL"},
                      TextRow{"Backslash", "https://example.org\\a", "not a URL"},
                      TextRow{"NotAscii", "https://example.org/\xc3\xa4", "not a URL"}),
    support::case_name);

TEST(Checks, WantTexts) {
    EXPECT_EQ(check_sha256(Value{1}).text(), "expected string, found integer");
    EXPECT_EQ(check_url(Value{1}).text(), "expected string, found integer");
}

// Members and lists -------------------------------------------------------------------------------

TEST(Members, WithAnXAreIgnoredAndTheFirstProblemHasItsPath) {
    const auto read = [](const char* text) {
        return read_members(json(text),
                            [](const std::string& key, const Value& value) -> ReadProblem {
                                return value == Value{1} ? ReadProblem{}
                                                         : ReadProblem{"bad " + key};
                            })
            .text();
    };
    EXPECT_EQ(read(R"({"a":1,"x-b":2})"), "");
    EXPECT_EQ(read(R"({"a":1,"b":2,"c":3})"), "b: bad b");
    EXPECT_EQ(read(R"({"a b":2})"), "[\"a b\"]: bad a b");
    EXPECT_EQ(read("[]"), "expected object, found array");
}

TEST(List, HasItsLimit) {
    std::vector<std::string> items;
    EXPECT_EQ(read_list(json(R"(["a","b"])"), items, 2).text(), "");
    EXPECT_EQ(items.size(), 2U);
    EXPECT_EQ(read_list(json(R"(["a","b"])"), items, 1).text(), "more than 1 items");
    EXPECT_EQ(read_list(json("{}"), items, 1).text(), "expected array, found object");
}

// Artifacts ---------------------------------------------------------------------------------------

struct JsonRow {
    const char* name;
    std::string json;
    const char* problem;
};
class Artifact : public ::testing::TestWithParam<JsonRow> {};

TEST_P(Artifact, IsCheckedAndCopied) {
    const auto value = json(GetParam().json);
    Value out;
    EXPECT_EQ(read_artifact(value, out).text(), GetParam().problem);
    EXPECT_EQ(out, *GetParam().problem ? Value{} : value);
}

std::string file_artifact(const std::string& more = {}) {
    return R"({"type":"file","urls":["https://e/a"],"sha256":")" + std::string{kHash} + "\"" +
           more + "}";
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    Artifact,
    ::testing::Values(
        JsonRow{"File", file_artifact(), ""},
        JsonRow{"FileWithSize", file_artifact(R"(,"size":12)"), ""},
        JsonRow{"Private", file_artifact(R"(,"x-y":[])"), ""},
        JsonRow{"Image",
                R"({"type":"oci","ref":"e/a:1","digest":"sha256:)" + std::string{kHash} + "\"}",
                ""},
        JsonRow{"Package", R"({"type":"package"})", ""},
        JsonRow{"UnknownType", R"({"type":"torrent"})", ""},
        JsonRow{"Signature",
                file_artifact(R"(,"signature":{"type":"minisign","url":"https://e/s"})"), ""},
        JsonRow{"NoType", "{}", "type: missing"},
        JsonRow{"TypeIsNoLabel", R"({"type":"a b"})",
                "type: expected file, index, oci, dir, package or wheel"},
        JsonRow{"FileWithoutUrls", R"({"type":"file"})", "urls: missing"},
        JsonRow{"FileWithoutHash", R"({"type":"file","urls":["https://e/a"]})", "sha256: missing"},
        JsonRow{"ImageWithoutReference", R"({"type":"oci"})", "ref: missing"},
        JsonRow{"NoUrls", R"({"type":"file","urls":[]})", "urls: needs 1 to 16 URLs"},
        JsonRow{"SecondUrl", R"({"type":"file","urls":["https://e/a","ftp://e/a"]})",
                "urls[1]: not an https or http URL"},
        JsonRow{"Digest", R"({"type":"oci","ref":"e/a","digest":"md5:1"})",
                "digest: does not start with sha256:"},
        JsonRow{"SignatureType", file_artifact(R"(,"signature":{"type":"pgp"})"),
                "signature.type: expected minisign, sigstore-bundle or gpg"},
        JsonRow{"SignatureMember", file_artifact(R"(,"signature":{"key":"1"})"),
                "signature.key: unknown member"},
        JsonRow{"NegativeSize", file_artifact(R"(,"size":-1)"),
                "size: expected non-negative integer, found integer"},
        JsonRow{"Member", R"({"type":"package","color":"red"})", "color: unknown member"},
        JsonRow{"CompanionFile", R"({"type":"package","companion_files":[{"size":1}]})",
                "companion_files[0].urls: missing"},
        JsonRow{"CompanionFileMember", R"({"type":"package","companion_files":[{"url":"a"}]})",
                "companion_files[0].url: unknown member"},
        JsonRow{"Excludes", R"({"type":"wheel","excludes":["a","a-gpu"]})", ""},
        JsonRow{"ExcludesAWord", R"({"type":"wheel","excludes":"a"})",
                "excludes: expected array, found string"},
        JsonRow{"ExcludesNoName", R"({"type":"wheel","excludes":["a","a b"]})",
                "excludes[1]: not the name of a package"},
        JsonRow{"NoObject", "1", "expected object, found integer"}),
    support::case_name);

TEST(ArtifactType, HasOnlyMembersThatAManifestMaySet) {
    const policy::Artifact whole{
        .type = "file",
        .urls = {"https://e/a"},
        .sha256 = kHash,
        .size = 12,
        .ref = "e/a:1",
        .digest = "sha256:" + std::string{kHash},
        .media_type = "application/gzip",
        .companions = {"x-cudart"},
        .companion_files = {{.urls = {"https://e/b"}, .sha256 = kHash, .size = 1, .ref = "p"}},
        .excludes = {"p-gpu"},
        .signature = {.type = "gpg", .url = "https://e/s", .key_id = "1"}};
    Value out;
    EXPECT_EQ(read_artifact(to_value(whole), out).text(), "");
}

// Variants ----------------------------------------------------------------------------------------

struct ReadVariant {
    Variant variant = {};
    std::string problem = {};
};

ReadVariant variant_from(std::string name, std::string_view text) {
    ReadVariant read;
    read.problem = read_variant(std::move(name), json(text), read.variant).text();
    return read;
}

TEST(VariantReading, TakesTheFamilyFromTheNameByDefault) {
    EXPECT_EQ(variant_from("cuda-12", "{}").variant.family, "cuda-12");
    EXPECT_EQ(variant_from("cuda-12", R"({"family":"cuda"})").variant.family, "cuda");
    EXPECT_EQ(variant_from("v", R"({"family":"a b"})").problem, "family: not a label");
}

TEST(VariantReading, ImpliesTierAndDeviceOnlyWithoutExplicitRequirements) {
    const auto implied = variant_from("cuda", "{}").variant;
    EXPECT_GT(implied.tier, 0);
    EXPECT_EQ(implied.needs.devices.size(), 1U);
    EXPECT_EQ(variant_from("v", R"({"family":"cuda"})").variant.tier, implied.tier);
    EXPECT_EQ(variant_from("hip", "{}").variant.needs.devices.size(), 1U);
    EXPECT_EQ(variant_from("cpu", "{}").variant.needs.devices.size(), 0U);
    EXPECT_EQ(variant_from("other", "{}").variant.needs.devices.size(), 0U);
    EXPECT_EQ(variant_from("cuda", R"({"requires":{}})").variant.needs.devices.size(), 0U);
    EXPECT_EQ(variant_from("cuda", R"({"tier":3})").variant.tier, 3);
    EXPECT_EQ(variant_from("cuda", R"({"tier":3})").variant.needs.devices.size(), 0U);
}

TEST(VariantReading, ExpandsTheShorthandToAnArtifact) {
    const auto read = variant_from(
        "v", R"({"url":"https://e/a","size":7,"sha256":")" + std::string{kHash} + "\"}");
    EXPECT_EQ(read.problem, "");
    EXPECT_EQ(read.variant.artifact, json(file_artifact(R"(,"size":7)")));
    EXPECT_EQ(variant_from("v", R"({"url":"https://e/a"})").problem, "sha256: missing");
    EXPECT_EQ(variant_from("v", R"({"size":7})").problem, "url: missing");
    EXPECT_EQ(variant_from("v", R"({"url":"a","artifact":{"type":"package"}})").problem,
              "url: not allowed with an artifact");
}

TEST(VariantReading, RejectsOnlyTheVariantForAnUnknownTypeOfArtifact) {
    const auto read = variant_from("v", R"({"artifact":{"type":"torrent"}})");
    EXPECT_EQ(read.problem, "");
    EXPECT_EQ(read.variant.needs.unsupported, std::vector<std::string>{"artifact.type=torrent"});
}

/// The names of the terms for which a fact is unknown.
std::vector<std::string> accepting(const std::string& on_unknown) {
    const auto read =
        variant_from("v", R"({"on_unknown":)" + on_unknown +
                              R"(,"requires":{"host":{"glibc_min":"2.31"},"device":[)"
                              R"({"backend":"cuda","cuda":{"toolkit":"12.8","sass":["8.0"]}},)"
                              R"({"backend":"vulkan","vulkan":{"api_min":"1.2"}}]}})");
    if (!read.problem.empty())
        return {read.problem};
    std::vector<std::string> names;
    auto all = read.variant.needs.devices;
    all.insert(all.begin(), read.variant.needs.host);
    for (const auto& terms : all)
        for (const auto& term : terms)
            if (term.accepts_unknown)
                names.push_back(term.name);
    return names;
}

TEST(VariantReading, TakesWhichRequirementsAcceptUnknownFacts) {
    using Names = std::vector<std::string>;
    EXPECT_EQ(accepting(R"("reject")"), Names{});
    EXPECT_EQ(accepting(R"(["glibc_min","vulkan"])"), (Names{"glibc_min", "vulkan"}));
    EXPECT_EQ(accepting(R"(["cuda"])"), (Names{"cuda.driver", "cuda.code"}));
    EXPECT_EQ(accepting(R"(["cuda.driver"])"), Names{"cuda.driver"});
    EXPECT_EQ(accepting(R"("accept")").size(), 8U) << "kinds are required of each device";
    EXPECT_EQ(accepting(R"("guess")"),
              Names{"on_unknown: expected 'reject', 'accept' or a list of requirements"});
    EXPECT_EQ(accepting(R"(["cud"])"), Names{"on_unknown: cud: not the name of a requirement"});
}

TEST(VariantReading, HasRangesAndWords) {
    EXPECT_EQ(variant_from("v", R"({"tier":1000})").problem, "");
    EXPECT_EQ(variant_from("v", R"({"tier":1001})").problem, "tier: number out of range");
    EXPECT_EQ(variant_from("v", R"({"tier":-1})").problem, "tier: number out of range");
    EXPECT_EQ(variant_from("v", R"({"color":1})").problem, "color: unknown member");
    EXPECT_EQ(variant_from("a b", "{}").problem, "not a label");
}

TEST(VariantReading, TakesSixtyFourVariables) {
    const auto with = [](int count) {
        Value::Object variables;
        for (int i = 0; i < count; ++i)
            variables.push_back({"V" + std::to_string(i), Value{"1"}});
        Value variant;
        variant["env"] = Value{variables};
        Variant read;
        return read_variant("v", variant, read).text();
    };
    EXPECT_EQ(with(64), "");
    EXPECT_EQ(with(65), "env: more than 64 variables");
    EXPECT_EQ(variant_from("v", R"({"env":{"1A":"x"}})").problem,
              "env.1A: not the name of a variable");
    EXPECT_EQ(variant_from("v", R"({"env":{"A":"\n"}})").problem, "env.A: has control characters");
}

}  // namespace manifest_reading_test
}  // namespace gpuprobe
