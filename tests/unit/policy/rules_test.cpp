// SPDX-License-Identifier: Apache-2.0
#include "policy/rules.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "support/case_name.h"
#include "unit/policy/scenario.h"

namespace gpuprobe {
namespace rules_test {

std::vector<KernelTarget> targets(std::string_view text) {
    std::vector<KernelTarget> list;
    for (const auto word : words(text))
        list.push_back(parse_text(word, std::type_identity<KernelTarget>{}).value());
    return list;
}

Version version(std::string_view text) {
    return parse_text(text, std::type_identity<Version>{}).value();
}

struct Row {
    const char* name;
    const char* sass;
    const char* ptx;
    const char* capability;  ///< "?" unknown, "-" no CUDA device
    const char* cuda;        ///< "?": unknown, "-": no CUDA device
    KernelFit wanted;
    bool exact = false;
    bool is_tegra = false;
};

template <class T>
Fact<T> fact(std::string_view text) {
    if (text == "?")
        return Fact<T>::unknown();
    if (text == "-")
        return Fact<T>::absent();
    return Fact<T>::known(parse_text(text, std::type_identity<T>{}).value());
}

class CudaCodeFit : public ::testing::TestWithParam<Row> {};

TEST_P(CudaCodeFit, FollowsTheRulesOfBinaryCompatibility) {
    const auto& row = GetParam();
    const CudaKernels code{.toolkit = version("12.8"),
                           .sass = targets(row.sass),
                           .ptx = targets(row.ptx),
                           .exact = row.exact};
    const CudaDevice device{.capability = fact<ComputeCapability>(row.capability),
                            .cuda = fact<Version>(row.cuda),
                            .is_tegra = row.is_tegra};
    EXPECT_EQ(fit_of(code, device, testing_variants::rules()), row.wanted);
}

INSTANTIATE_TEST_SUITE_P(
    Cubins,
    CudaCodeFit,
    ::testing::Values(
        Row{"SameCapability", "8.6", "", "8.6", "12.0", KernelFit::Runs},
        Row{"LaterMinor", "8.0", "", "8.9", "12.0", KernelFit::Runs},
        Row{"EarlierMinor", "8.6", "", "8.0", "12.8", KernelFit::NoCode},
        Row{"AcrossMajors", "8.0", "", "9.0", "12.8", KernelFit::NoCode},
        Row{"TenIsNotOne", "1.0", "", "10.0", "12.8", KernelFit::NoCode},
        Row{"ExactTakesTheSame", "8.6", "", "8.6", "12.0", KernelFit::Runs, true},
        Row{"ExactRefusesLaterMinor", "8.0", "", "8.6", "12.8", KernelFit::NoCode, true},
        Row{"TegraTakesTheSame", "8.7", "", "8.7", "12.0", KernelFit::Runs, false, true},
        Row{"TegraRefusesDesktopCode", "8.6", "", "8.7", "12.8", KernelFit::NoCode, false, true},
        Row{"SpecificTakesTheSame", "12.0a", "", "12.0", "12.0", KernelFit::Runs},
        Row{"SpecificRefusesLaterMinor", "12.0a", "", "12.1", "12.8", KernelFit::NoCode},
        Row{"FamilyTakesLaterMinor", "10.0f", "", "10.3", "12.0", KernelFit::Runs},
        Row{"FamilyRefusesAnotherMajor", "10.0f", "", "12.0", "12.8", KernelFit::NoCode},
        Row{"EmptyListsRunNowhere", "", "", "8.0", "12.8", KernelFit::NoCode},
        Row{"UnknownCapability", "8.0", "8.0", "?", "12.8", KernelFit::CapabilityUnknown},
        Row{"NoCudaDevice", "8.0", "8.0", "-", "12.8", KernelFit::NoCuda}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    Ptx,
    CudaCodeFit,
    ::testing::Values(
        Row{"OnALaterMajor", "", "7.5", "9.0", "12.8", KernelFit::Runs},
        Row{"NotOnAnEarlierCapability", "", "7.5", "7.0", "12.8", KernelFit::NoCode},
        Row{"DriverOneMinorOlder", "", "7.5", "9.0", "12.7", KernelFit::PtxNeedsNewerCuda},
        Row{"DriverNewer", "", "7.5", "9.0", "13.0", KernelFit::Runs},
        Row{"CubinSparesTheDriver", "9.0", "7.5", "9.0", "12.0", KernelFit::Runs},
        Row{"ExactRefusesLater", "", "7.5", "8.0", "12.8", KernelFit::NoCode, true},
        Row{"SpecificRefusesLater", "", "9.0a", "10.0", "12.8", KernelFit::NoCode},
        Row{"FamilyTakesLaterMinor", "", "10.0f", "10.3", "12.8", KernelFit::Runs},
        Row{"FamilyRefusesAnotherMajor", "", "10.0f", "12.0", "12.8", KernelFit::NoCode},
        Row{"CudaUnknown", "", "7.5", "9.0", "?", KernelFit::CudaUnknown},
        Row{"NoDriver", "", "7.5", "9.0", "-", KernelFit::NoCuda}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(
    PtxOfAVersion,
    CudaCodeFit,
    ::testing::Values(
        Row{"DriverKnowsIt", "", "7.5@9.1", "9.0", "13.1", KernelFit::Runs},
        Row{"DriverIsNewer", "", "7.5@9.1", "9.0", "13.2", KernelFit::Runs},
        Row{"DriverIsOlder", "", "7.5@9.1", "9.0", "13.0", KernelFit::PtxNeedsNewerCuda},
        Row{"VersionSharedByTwoToolkits", "", "7.5@8.5", "9.0", "12.6", KernelFit::Runs},
        Row{"AnOlderOneBesideIt", "", "7.5@9.1 5.0@8.0", "9.0", "12.0", KernelFit::Runs},
        Row{"NewerThanTheTable", "", "7.5@99.0", "9.0", "13.0", KernelFit::PtxNeedsNewerCuda},
        Row{"BothNewerThanTheTable", "", "7.5@99.0", "9.0", "99.0", KernelFit::CudaUnknown},
        Row{"CudaOfVersionUnknown", "", "7.5@9.1", "9.0", "?", KernelFit::CudaUnknown}),
    support::case_name);

KernelFit fit_of_silent(std::string_view toolkit, std::string_view capability) {
    return fit_of({.toolkit = version(toolkit)},
                  {.capability = fact<ComputeCapability>(capability)}, testing_variants::rules());
}

TEST(CudaKernels, WithoutAnyListRunsOnWhatTheToolkitCompilesFor) {
    EXPECT_EQ(fit_of_silent("13.0", "7.5"), KernelFit::Runs);
    EXPECT_EQ(fit_of_silent("13.0", "7.0"), KernelFit::NoCode);
    EXPECT_EQ(fit_of_silent("13.9", "6.1"), KernelFit::NoCode);
    EXPECT_EQ(fit_of_silent("12.0", "5.0"), KernelFit::Runs);
    EXPECT_EQ(fit_of_silent("12.9.1", "3.7"), KernelFit::NoCode);
    EXPECT_EQ(fit_of_silent("11.8", "3.5"), KernelFit::Runs);
    EXPECT_EQ(fit_of_silent("12.8", "?"), KernelFit::CapabilityUnknown);
    // Nothing is known about this GPU.
    EXPECT_EQ(fit_of_silent("0", "2.0"), KernelFit::Runs);
}

class NoTarget : public ::testing::TestWithParam<const char*> {};
TEST_P(NoTarget, IsRefused) {
    EXPECT_EQ(parse_text(GetParam(), std::type_identity<KernelTarget>{}), std::nullopt);
}
INSTANTIATE_TEST_SUITE_P(
    Table,
    NoTarget,
    ::testing::Values(
        "", "a", "9", "90", "9.", ".0", "9.00", "100.0", "9.0b", "9.0aa", "-1.0", "x.y"));

struct Floor {
    const char* name;
    const char* toolkit;
    const char* driver;
};
class CudaFloor : public ::testing::TestWithParam<Floor> {};

TEST_P(CudaFloor, IsThatOfTheMajorVersion) {
    const auto floor = testing_variants::rules().cuda_floor(version(GetParam().toolkit));
    ASSERT_TRUE(floor);
    EXPECT_EQ(*floor, version(GetParam().driver));
}

INSTANTIATE_TEST_SUITE_P(Table,
                         CudaFloor,
                         ::testing::Values(Floor{"Thirteen", "13.2", "580"},
                                           Floor{"TwelveLast", "12.9", "525.60.13"},
                                           Floor{"TwelveFirst", "12.0", "525.60.13"},
                                           Floor{"ElevenLater", "11.8", "450.80.02"},
                                           Floor{"ElevenFirst", "11.0", "450.36.06"},
                                           Floor{"PatchOfElevenFirst", "11.0.3", "450.36.06"},
                                           Floor{"BeforeCompatibility", "10.1", "418.39"}),
                         support::case_name);

TEST(CudaFloor, OfAToolkitThatIsNotInTheTableIsNotKnown) {
    EXPECT_EQ(testing_variants::rules().cuda_floor(version("14.0")), std::nullopt);
    EXPECT_EQ(testing_variants::rules().cuda_floor(version("7.5")), std::nullopt);
}

}  // namespace rules_test
}  // namespace gpuprobe
