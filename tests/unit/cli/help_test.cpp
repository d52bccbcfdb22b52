// SPDX-License-Identifier: Apache-2.0
#include "cli/help.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.h"
#include "explain/screen.h"

namespace gpuprobe {
namespace help_test {

std::vector<std::string> pages() {
    std::vector<std::string> all{*help_text("")};
    for (const auto& verb : verb_names())
        all.push_back(*help_text(verb));
    return all;
}

/// The words of a string, regardless of the white space between them.
std::vector<std::string> words_of(const std::string& text) {
    std::istringstream stream{text};
    return {std::istream_iterator<std::string>{stream}, {}};
}

TEST(NarrowedHelp, HasNoLineThatATerminalWouldBreak) {
    for (const std::size_t columns : {40, 80, 90, 99})
        for (const auto& page : pages()) {
            const auto text = narrowed(page, columns);
            for (const auto line : split(text, '\n')) {
                // Examples and single words are not wrapped.
                const bool is_whole =
                    columns == 40 && (line.starts_with("  gpuprobectl ") ||
                                      page.find("\n" + std::string{line} + "\n") != page.npos ||
                                      words_of(std::string{line}).size() == 1);
                EXPECT_TRUE(display_width(line) <= columns || is_whole) << columns << ": " << line;
            }
        }
}

TEST(HelpOverview, ListsTheVerbsInGroups) {
    const auto page = *help_text("");
    std::size_t before = 0;
    for (const auto* group : {"\nAsk\n  status", "\nStart\n  env", "\nRecord\n  probe",
                              "\nAdminister\n  override", "\nAdvanced\n  describe"}) {
        const auto place = page.find(group);
        ASSERT_NE(place, std::string::npos) << group;
        EXPECT_GT(place, before) << group;
        before = place;
    }
}

TEST(HelpOverview, OneThingHasOneOptionInAllVerbs) {
    const auto names = option_names();
    for (const auto* other : {"--min-memory", "--need-mib", "--variants-need-mib", "--gpus",
                              "--deny", "--kv", "--streams", "--machine", "--report"})
        EXPECT_EQ(std::ranges::count(names, other), 0) << other;
    for (const auto* name : {"--memory", "--gpu", "--exclude", "--replay", "--parallel",
                             "--cache-type-k", "--cache-type-v"})
        EXPECT_EQ(std::ranges::count(names, name), 1) << name;
}

TEST(NarrowedHelp, KeepsTheWords) {
    for (const auto& page : pages()) {
        EXPECT_EQ(narrowed(page, 0), page);
        EXPECT_EQ(narrowed(page, 100), page);
        EXPECT_EQ(words_of(narrowed(page, 60)), words_of(page));
    }
}

TEST(NarrowedHelp, KeepsParagraphsExamplesAndColumns) {
    EXPECT_EQ(narrowed("Usage: gpuprobectl verb [OPTION…] WORD WORD WORD\n"
                       "\n"
                       "A paragraph of two lines that is\n"
                       "too long.\n"
                       "\n"
                       "  an example that is longer than the line\n"
                       "\n"
                       "      --option=NAME       what it is about, and then more\n"
                       "                          and more\n"
                       "      --other-longer-option=NAME\n"
                       "                          something else that is long\n",
                       46),
              "Usage: gpuprobectl verb [OPTION…] WORD WORD\n"
              "         WORD\n"
              "\n"
              "A paragraph of two lines that is too long.\n"
              "\n"
              "  an example that is longer than the line\n"
              "\n"
              "      --option=NAME       what it is about,\n"
              "                          and then more and\n"
              "                          more\n"
              "      --other-longer-option=NAME\n"
              "                          something else that\n"
              "                          is long\n");
}

}  // namespace help_test
}  // namespace gpuprobe
