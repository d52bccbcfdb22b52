// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "policy/select.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace request_table_test {

using Names = std::vector<std::string>;

Value json(std::string_view text) {
    return parse_json(text, kib(64)).value();
}

struct GoodRow {
    const char* name;
    const char* json;
    SelectRequest want;
};
class GoodSelectRequest : public ::testing::TestWithParam<GoodRow> {};

TEST_P(GoodSelectRequest, IsRead) {
    const auto request = select_request_from(json(GetParam().json));
    ASSERT_TRUE(request) << request.error().text;
    EXPECT_TRUE(*request == GetParam().want);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    GoodSelectRequest,
    ::testing::Values(
        GoodRow{"Empty", "{}", {}},
        GoodRow{"Null", "null", {}},
        GoodRow{"BuiltAsArray", R"({"built":["cuda","cpu"]})", {.built = Names{"cuda", "cpu"}}},
        GoodRow{"BuiltAsText",
                R"({"built":"cuda, Vulkan,cpu"})",
                {.built = Names{"cuda", "vulkan", "cpu"}}},
        GoodRow{"NothingBuilt", R"({"built":""})", {.built = Names{}}},
        GoodRow{"NothingBuiltAsArray", R"({"built":[]})", {.built = Names{}}},
        GoodRow{"Deny",
                R"({"deny":["rocm","pci:0000:03:00.0"]})",
                {.deny = {"rocm", "pci:0000:03:00.0"}}},
        GoodRow{"Backend", R"({"backend":"CUDA"})", {.backend = "cuda"}},
        GoodRow{"BackendAuto", R"({"backend":"auto"})", {}},
        GoodRow{"Strict", R"({"strict":true})", {.strict = true}},
        GoodRow{"NotStrict", R"({"strict":false})", {.strict = false}},
        GoodRow{"Bytes", R"({"min-memory":8589934592})", {.min_memory = gib(8)}},
        GoodRow{"NoBytes", R"({"min-memory":0})", {.min_memory = Bytes{0}}},
        GoodRow{"Gibibytes", R"({"min-memory":"8GiB"})", {.min_memory = gib(8)}},
        GoodRow{"Mebibytes", R"({"min-memory":" 8192 MiB "})", {.min_memory = gib(8)}},
        GoodRow{"Gigabytes", R"({"min-memory":"8GB"})", {.min_memory = Bytes{8'000'000'000}}},
        GoodRow{"BytesAsText", R"({"min-memory":"4096"})", {.min_memory = Bytes{4096}}},
        GoodRow{"LargestSize",
                R"({"min-memory":"16777215TiB"})",
                {.min_memory = Bytes{16777215ULL << 40}}},
        GoodRow{"Prefer", R"({"prefer":["vulkan"]})", {.prefer = {"vulkan"}}},
        GoodRow{"Only", R"({"only":"vulkan,cpu"})", {.only = Names{"vulkan", "cpu"}}},
        GoodRow{"Require",
                R"({"require":["memory>=8GiB","gfx=gfx90a|gfx942"]})",
                {.require = {"memory>=8GiB", "gfx=gfx90a|gfx942"}}},
        GoodRow{"RequireAsText",
                R"({"require":"fp16, vulkan>=1.2"})",
                {.require = {"fp16", "vulkan>=1.2"}}},
        GoodRow{"AnyVendor", R"({"any-vendor":true})", {.any_vendor = true}},
        GoodRow{"Platform", R"({"platform":" Darwin-arm64"})", {.platform = "darwin-arm64"}},
        GoodRow{"Fake", R"({"fake":"CUDA,rocm"})", {.fake = Names{"cuda", "rocm"}}},
        GoodRow{"ForbidFake", R"({"forbid-fake":true})", {.forbid_fake = true}},
        GoodRow{"Gpus", R"({"gpus":["pci:0000:03:00.0"]})", {.gpus = Names{"pci:0000:03:00.0"}}},
        GoodRow{"WithoutRejected", R"({"include-rejected":false})", {.include_rejected = false}}),
    support::case_name);

struct BadRow {
    const char* name;
    const char* json;
    const char* problem;
};
class BadSelectRequest : public ::testing::TestWithParam<BadRow> {};

TEST_P(BadSelectRequest, IsInvalidNamingTheKey) {
    const auto request = select_request_from(json(GetParam().json));
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(request.error().text, std::string{"request: "} + GetParam().problem);
}

constexpr const char* kSizeProblem =
    "min-memory: expected a number of bytes, or text like \"8GiB\"";

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadSelectRequest,
    ::testing::Values(
        BadRow{"NoObject", "[]", "expected object, found array"},
        BadRow{"UnknownKey", R"({"min_memory":1})",
               "min_memory: unknown key; did you mean 'min-memory'?"},
        BadRow{"UnknownKeyWithEscapes", R"({"a\u001b[31m":1})", "a\xEF\xBF\xBD[31m: unknown key"},
        BadRow{"KeyInOtherCase", R"({"Built":[]})", "Built: unknown key; did you mean 'built'?"},
        BadRow{"BuiltAsNumber", R"({"built":1})",
               "built: expected array of strings, found integer"},
        BadRow{"BuiltWithNumber", R"({"built":["cuda",1]})",
               "built[1]: expected string, found integer"},
        BadRow{"BuiltWithEmptyName", R"({"built":["cuda",""]})", "built: a name is empty"},
        BadRow{"BuiltWithTrailingComma", R"({"built":"cuda,"})", "built: a name is empty"},
        BadRow{"BuiltNull", R"({"built":null})", "built: expected array of strings, found null"},
        BadRow{"DenyAsObject", R"({"deny":{}})", "deny: expected array of strings, found object"},
        BadRow{"BackendAsArray", R"({"backend":["cuda"]})",
               "backend: expected string, found array"},
        BadRow{"EmptyBackend", R"({"backend":""})", "backend: a name is empty"},
        BadRow{"StrictAsText", R"({"strict":"true"})", "strict: expected boolean, found string"},
        BadRow{"StrictAsNumber", R"({"strict":1})", "strict: expected boolean, found integer"},
        BadRow{"NegativeSize", R"({"min-memory":-1})", kSizeProblem},
        BadRow{"FractionalSize", R"({"min-memory":1.5})", kSizeProblem},
        BadRow{"BooleanSize", R"({"min-memory":true})", kSizeProblem},
        BadRow{"AmbiguousUnit", R"({"min-memory":"8G"})", kSizeProblem},
        BadRow{"LowerCaseUnit", R"({"min-memory":"8gib"})", kSizeProblem},
        BadRow{"UnitOnly", R"({"min-memory":"GiB"})", kSizeProblem},
        BadRow{"EmptySize", R"({"min-memory":""})", kSizeProblem},
        BadRow{"FractionalText", R"({"min-memory":"1.5GiB"})", kSizeProblem},
        BadRow{"SizeOverflows", R"({"min-memory":"16777216TiB"})", kSizeProblem},
        BadRow{"EmptyOnly", R"({"only":[]})",
               "only: expected at least one name; omit the key to allow any name"},
        BadRow{"EmptyGpus", R"({"gpus":""})",
               "gpus: expected at least one name; omit the key to allow any name"},
        BadRow{"RequireOfNoFact", R"({"require":"fp17"})",
               "require: fp17: no such fact; did you mean 'fp16'?"},
        BadRow{"RequireOfNoSize", R"({"require":["memory>=8G"]})",
               "require: memory: expected a size like 8GiB"},
        BadRow{"EmptyFake", R"({"fake":""})",
               "fake: expected at least one name; omit the key to allow any name"},
        BadRow{"PlatformWithoutAProcessor", R"({"platform":"darwin"})",
               "platform: expected an operating system and a processor, like \"darwin-arm64\""},
        BadRow{"IncludeRejectedAsText", R"({"include-rejected":"no"})",
               "include-rejected: expected boolean, found string"}),
    support::case_name);

TEST(SelectRequest, TakesAtMost64NamesOf128Bytes) {
    Value request;
    request["built"] = Value{Value::Array(64, Value{std::string(128, 'x')})};
    EXPECT_TRUE(select_request_from(request));
    request["built"] = Value{Value::Array(65, Value{"x"})};
    EXPECT_EQ(select_request_from(request).error().text, "request: built: more than 64 names");
    request["built"] = Value{Value::Array(1, Value{std::string(129, 'x')})};
    EXPECT_EQ(select_request_from(request).error().text,
              "request: built: a name of more than 128 bytes");
}

TEST(SelectRequest, EchoesLittleOfAnUnknownKey) {
    Value request;
    request[std::string(100'000, 'x')] = 1;
    EXPECT_LT(select_request_from(request).error().text.size(), 128U);
}

}  // namespace request_table_test
}  // namespace gpuprobe
