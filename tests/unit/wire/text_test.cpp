// SPDX-License-Identifier: Apache-2.0
#include <new>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/case_name.h"
#include "wire/bus.h"
#include "wire/varlink.h"

namespace gpuprobe::bus {
namespace text_test {

#define R "\xEF\xBF\xBD"

struct Case {
    const char* name;
    std::string text;
    std::string want;
};
class BusText : public ::testing::TestWithParam<Case> {};

TEST_P(BusText, KeepsWhatTheBusTakesAndReplacesTheRest) {
    const auto text = bus_text(GetParam().text);
    EXPECT_EQ(text, GetParam().want);
    EXPECT_NO_THROW(sdbus::Variant{text});  // sd-bus itself checks the text
}

INSTANTIATE_TEST_SUITE_P(
    Good,
    BusText,
    ::testing::Values(Case{"Empty", "", ""},
                      Case{"Ascii", "NVIDIA H200\t\n\x7f", "NVIDIA H200\t\n\x7f"},
                      Case{"TwoBytes", "\xC2\x80\xDF\xBF", "\xC2\x80\xDF\xBF"},
                      Case{"ThreeBytes", "\xE0\xA0\x80\xE2\x82\xAC", "\xE0\xA0\x80\xE2\x82\xAC"},
                      Case{"FourBytes", "\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
                      Case{"LastAllowed", "\xF4\x8F\xBF\xBD", "\xF4\x8F\xBF\xBD"}),
    support::case_name);

INSTANTIATE_TEST_SUITE_P(Bad,
                         BusText,
                         ::testing::Values(Case{"Zero", std::string("a\0b", 3), "a" R "b"},
                                           Case{"LoneContinuation", "\x80x", R "x"},
                                           Case{"LoneLead", "\xC3", R},
                                           Case{"Cut", "\xE2\x82", R R},
                                           Case{"Overlong", "\xC0\xAF", R R},
                                           Case{"OverlongThree", "\xE0\x80\xAF", R R R},
                                           Case{"Surrogate", "\xED\xA0\x80", R},
                                           Case{"NonCharacter", "\xEF\xBF\xBF", R},
                                           Case{"ArabicNonCharacter", "\xEF\xB7\x90", R},
                                           Case{"AstralNonCharacter", "\xF0\x9F\xBF\xBE", R},
                                           Case{"BeyondUnicode", "\xF4\x90\x80\x80", R},
                                           Case{"NeverALead", "\xFF\xFE", R R}),
                         support::case_name);

TEST(BusText, CutsAtACharacter) {
    EXPECT_EQ(bus_text("ab\xC3\xA9", Bytes{4}), "ab\xC3\xA9");
    EXPECT_EQ(bus_text("ab\xC3\xA9", Bytes{3}), "ab");
    EXPECT_EQ(bus_text("abc", Bytes{2}), "ab");
    EXPECT_EQ(bus_text("abc", Bytes{0}), "");
}

TEST(BusText, IsValidWhereverATextIsCut) {
    const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\xFF";
    for (std::size_t length = 0; length <= text.size(); ++length)
        EXPECT_NO_THROW(sdbus::Variant{bus_text(text.substr(0, length))}) << length;
}

TEST(Guard, LetsNothingOutButBusErrors) {
    const auto name_of_thrown = [](const auto& body) -> std::string {
        try {
            guard(body);
        } catch (const sdbus::Error& error) {
            return error.getName();
        }
        return "none";
    };
    const auto internal = error_name(ErrorCode::Internal);
    EXPECT_EQ(name_of_thrown([] { throw std::runtime_error{"x"}; }), internal);
    EXPECT_EQ(name_of_thrown([] { throw std::bad_alloc{}; }), internal);
    EXPECT_EQ(name_of_thrown([] { throw 7; }), internal);
    EXPECT_EQ(name_of_thrown([] {
                  throw sdbus_error(Error{ErrorCode::NoMatch, "x"});
              }),
              error_name(ErrorCode::NoMatch));
    EXPECT_EQ(name_of_thrown([] {}), "none");
}

TEST(SdbusError, HasItsNameAndNoBadBytes) {
    const auto error = sdbus_error(Error{ErrorCode::UnknownApplication, "x\xff"});
    EXPECT_EQ(std::string{error.getName()}, "org.gpuprobe.GpuProbe1.Error.UnknownApplication");
    EXPECT_EQ(error.getMessage(), "x\xEF\xBF\xBD");
}

}  // namespace text_test
}  // namespace gpuprobe::bus
