// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/recommend.h"
#include "support/case_name.h"

namespace gpuprobe {
namespace recommend_request_test {

TEST(RecommendRequest, IsReadByItsKeys) {
    const auto request = recommend_request_from(
        Value::Object{{"prefer", "rocm, cu130"},
                      {"only", Value::Array{Value{"family:cuda"}}},
                      {"exclude", Value::Array{Value{"cu132"}, Value{"vulkan"}}},
                      {"need-mib", 8192},
                      {"require-verified", true},
                      {"include-rejected", false}});
    ASSERT_TRUE(request) << request.error().text;
    EXPECT_EQ(*request, (RecommendRequest{.prefer = {"rocm", "cu130"},
                                          .only = std::vector<std::string>{"family:cuda"},
                                          .exclude = {"cu132", "vulkan"},
                                          .need = mib(8192),
                                          .require_verified = true,
                                          .include_rejected = false}));
    EXPECT_EQ(*recommend_request_from(Value{}), RecommendRequest{});
    EXPECT_EQ(recommend_request_from(Value::Object{{"need-mib", 0}})->need, std::nullopt);
}

struct Bad {
    const char* name;
    Value request;
    const char* problem;
};
class BadRecommendRequest : public ::testing::TestWithParam<Bad> {};

TEST_P(BadRecommendRequest, IsAnErrorThatNamesTheKey) {
    const auto request = recommend_request_from(GetParam().request);
    ASSERT_FALSE(request);
    EXPECT_EQ(request.error().code, ErrorCode::InvalidRequest);
    EXPECT_EQ(request.error().text, GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadRecommendRequest,
    ::testing::Values(Bad{"NoObject", Value{"prefer"}, "request: expected object, found string"},
                      Bad{"UnknownKey", Value::Object{{"preferred", "a"}},
                          "request: preferred: unknown key; did you mean 'prefer'?"},
                      Bad{"WrongType", Value::Object{{"prefer", 1}},
                          "request: prefer: expected list of strings, found integer"},
                      Bad{"NoLabel", Value::Object{{"exclude", "a b"}},
                          "request: exclude: not the name of a variant or family"},
                      Bad{"Empty", Value::Object{{"only", ""}},
                          "request: only: not the name of a variant or family"},
                      Bad{"NoBoolean", Value::Object{{"require-verified", "yes"}},
                          "request: require-verified: expected boolean, found string"},
                      Bad{"Negative", Value::Object{{"need-mib", -1}},
                          "request: need-mib: expected non-negative integer, found integer"},
                      Bad{"Overflow", Value::Object{{"need-mib", Value{18446744073709551615ULL}}},
                          "request: need-mib: number out of range"},
                      Bad{"TooMany", Value::Object{{"prefer", Value{Value::Array(65, Value{"a"})}}},
                          "request: prefer: more than 64 words"}),
    support::case_name);

}  // namespace recommend_request_test
}  // namespace gpuprobe
