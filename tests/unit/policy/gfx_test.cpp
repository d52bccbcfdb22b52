// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "policy/rules.h"
#include "support/case_name.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace gfx_test {

GfxTarget target(std::string_view text) {
    return parse_text(text, std::type_identity<GfxTarget>{}).value();
}

struct Row {
    const char* name;
    const char* code;
    const char* device;
    Truth wanted;
};
class GfxCode : public ::testing::TestWithParam<Row> {};

TEST_P(GfxCode, RunsWhereProcessorAndFeaturesAgree) {
    EXPECT_EQ(runs_on(target(GetParam().code), target(GetParam().device),
                      testing_variants::rules().gfx_families()),
              GetParam().wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    GfxCode,
    ::testing::Values(Row{"Same", "gfx1100", "gfx1100", Truth::True},
                      Row{"Other", "gfx1100", "gfx1101", Truth::False},
                      Row{"PrefixIsNoMatch", "gfx110", "gfx1100", Truth::False},
                      Row{"CaseDoesNotCount", "gfx90A", "gfx90a", Truth::True},
                      Row{"Family", "gfx110X", "gfx1103", Truth::True},
                      Row{"FamilyEndsWhereTheTableEnds", "gfx110X", "gfx1104", Truth::False},
                      Row{"OtherFamily", "gfx110X", "gfx1151", Truth::False},
                      Row{"FamilyThatIsNotInTheTable", "gfx94X", "gfx942", Truth::True},
                      Row{"FeatureAgrees", "gfx90a:xnack-", "gfx90a:sramecc+:xnack-", Truth::True},
                      Row{"FeatureDiffers", "gfx90a:xnack+", "gfx90a:sramecc+:xnack-",
                          Truth::False},
                      Row{"FeatureNotTold", "gfx90a:xnack-", "gfx90a", Truth::Unknown},
                      Row{"FeatureOfDeviceAlone", "gfx90a", "gfx90a:xnack+", Truth::True},
                      Row{"OtherProcessorBeforeFeature", "gfx908:xnack-", "gfx90a", Truth::False}),
    support::case_name);

class NoGfx : public ::testing::TestWithParam<const char*> {};
TEST_P(NoGfx, IsRefused) {
    EXPECT_EQ(parse_text(GetParam(), std::type_identity<GfxTarget>{}), std::nullopt);
}
INSTANTIATE_TEST_SUITE_P(Table,
                         NoGfx,
                         ::testing::Values("",
                                           "gfx",
                                           "gfx9",
                                           "sm_90",
                                           "gfx90g",
                                           "GFX90a",
                                           "gfx90a:",
                                           "gfx90a:xnack",
                                           "gfx90a:tgsplit+",
                                           "gfx90a:xnack+:xnack-",
                                           "gfx00000000000000000"));

}  // namespace gfx_test
}  // namespace gpuprobe
