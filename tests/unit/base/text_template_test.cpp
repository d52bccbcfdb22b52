// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/text.h"

namespace gpuprobe {
namespace text_template_test {

/// The value of the placeholders "a" and "b". Other placeholders are unknown.
std::optional<std::string> word(std::string_view name) {
    if (name == "a" || name == "b")
        return "<" + std::string{name} + ">";
    return std::nullopt;
}

TEST(TextTemplate, IsFilledCompletelyOrNotAtAll) {
    EXPECT_EQ(filled_template("", word), "");
    EXPECT_EQ(filled_template("{a}, {b}!", word), "<a>, <b>!");
    EXPECT_EQ(filled_template("[{a}|{b}]", word), "[<a>|<b>]");
    EXPECT_EQ(filled_template("{a}, {c}", word), std::nullopt);
    for (const auto* unpaired : {"{", "}", "{a", "a}", "{{a}}", "{a}{b", "a}{b}"})
        EXPECT_EQ(filled_template(unpaired, word), std::nullopt) << unpaired;
}

TEST(TextTemplate, HasAProblem) {
    const auto exists = [](std::string_view name) { return word(name).has_value(); };
    EXPECT_EQ(template_problem("{a}, {b}!", exists), std::nullopt);
    EXPECT_EQ(template_problem("{a}, {c}", exists), "c: no such fact");
    EXPECT_EQ(template_problem("{}", exists), ": no such fact");
    EXPECT_EQ(template_problem("{c}, {", exists), "an unmatched brace");
}

TEST(Sentence, ShowsAnUnpairedBraceAsText) {
    EXPECT_EQ(filled_sentence("{", word), "{");
    EXPECT_EQ(filled_sentence("} {a}", word), "} <a>");
    EXPECT_EQ(filled_sentence("{{a}}", word), "{<a>}");
    EXPECT_EQ(filled_sentence("{a} {b", word), "<a> {b");
}

TEST(Sentence, LeavesOutAnUnknownPartUpToItsEnd) {
    EXPECT_EQ(filled_sentence("{c}[ {c}][ {a}]", word), "? <a>");
    EXPECT_EQ(filled_sentence("[{c}|{b}] x", word), "<b> x");
    EXPECT_EQ(filled_sentence("x[ {a}", word), "x <a>");
    EXPECT_EQ(filled_sentence("x[", word), "x");
}

}  // namespace text_template_test
}  // namespace gpuprobe
