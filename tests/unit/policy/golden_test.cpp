// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "support/case_name.h"
#include "unit/policy/scenario.h"

/// Compares choices with those that other projects make on the same machine by their own rules:
/// tests/data/variants/golden.json.
namespace gpuprobe {
namespace golden_test {

using namespace testing_variants;

struct Check {
    std::string name;
    std::string machine;
    Value wanted;
};

/// The checks of exports are in exports_test.cpp.
std::vector<Check> checks() {
    std::vector<Check> list;
    const auto golden = document("/tests/data/variants/golden.json");
    for (const auto& scenario : *golden.at("scenarios").as_array()) {
        int number = 0;
        for (const auto& check : *scenario.at("checks").as_array()) {
            const auto id = *scenario.at("id").as_string();
            ++number;
            if (check.find("manifest"))
                list.push_back({id + "_" + std::to_string(number), id, check});
        }
    }
    return list;
}

RecommendRequest request_of(const Value& check) {
    return {.prefer = texts(check.at("prefer")), .exclude = texts(check.at("exclude"))};
}

std::vector<std::string> chain_of(const Recommendation& answer) {
    auto chain = answer.fallback;
    if (answer.variant)
        chain.insert(chain.begin(), *answer.variant);
    return chain;
}

class Golden : public ::testing::TestWithParam<Check> {};

TEST_P(Golden, ChoosesTheSameAsTheProject) {
    const auto& wanted = GetParam().wanted;
    const auto manifest = sample(*wanted.at("manifest").as_string());
    const auto answer =
        recommend(manifest, request_of(wanted), machine(GetParam().machine), rules());
    const auto text_of_answer = json_pretty(to_value(answer));
    EXPECT_EQ(answer.variant, text(wanted.at("expect"))) << text_of_answer;
    EXPECT_EQ(answer.status, answer.variant ? RecommendStatus::Ok : RecommendStatus::None);
    if (wanted.find("chain")) {
        EXPECT_EQ(chain_of(answer), texts(wanted.at("chain")));
    }
    if (wanted.find("covers")) {
        EXPECT_EQ(answer.gpus, texts(wanted.at("covers")));
    }
    if (const auto warns = wanted.at("warns").as_bool()) {
        EXPECT_EQ(!answer.warnings.empty(), *warns);
    }
}

TEST_P(Golden, NamesThePredicateThatRejects) {
    const auto& wanted = GetParam().wanted;
    const auto* rejected = wanted.at("rejects").as_object();
    if (!rejected)
        return;
    const auto answer = recommend(sample(*wanted.at("manifest").as_string()), request_of(wanted),
                                  machine(GetParam().machine), rules());
    for (const auto& [variant, predicate] : *rejected) {
        const auto* found = candidate(answer, variant);
        ASSERT_TRUE(found) << variant;
        EXPECT_EQ(found->verdict, Verdict::Rejected) << variant;
        const auto names = predicates_of(*found);
        EXPECT_NE(std::ranges::find(names, *predicate.as_string()), names.end())
            << json_pretty(to_value(*found));
    }
}

TEST_P(Golden, IsReadBackAsItWasWritten) {
    const auto& wanted = GetParam().wanted;
    const auto answer = recommend(sample(*wanted.at("manifest").as_string()), request_of(wanted),
                                  machine(GetParam().machine), rules());
    const auto text = json_line(to_value(answer));
    const auto again = strict_record_from<Recommendation>(parse_json(text, mib(4)).value());
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, answer);
}

INSTANTIATE_TEST_SUITE_P(Scenarios, Golden, ::testing::ValuesIn(checks()), support::case_name);

TEST(GoldenFile, HasAllScenariosAndChecks) {
    const auto golden = document("/tests/data/variants/golden.json");
    EXPECT_EQ(golden.at("scenarios").as_array()->size(), 39U);
    EXPECT_EQ(checks().size(), 76U);
}

}  // namespace golden_test
}  // namespace gpuprobe
