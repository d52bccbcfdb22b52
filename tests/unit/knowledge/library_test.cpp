// SPDX-License-Identifier: Apache-2.0
#include "knowledge/library.h"

#include <gtest/gtest.h>

#include "knowledge/chips.h"

namespace gpuprobe::knowledge {
namespace library_test {

constexpr const char* kNoDrivers = R"({"schema":"gpuprobe.chips/1","version":"9","vendors":[],)"
                                   R"("chips":[],"compatibles":[],"drivers":[]})";

DocumentSet set_of(std::uint32_t year, Origin origin, std::string_view chips) {
    return {.version = {.parts = {year, 1, 1, 0}},
            .documents = {{"chips", {.json = chips, .origin = origin}}}};
}

class Libraries : public ::testing::Test {
protected:
    void TearDown() override { Library::use(std::make_shared<const Library>()); }
};

TEST_F(Libraries, StartWithTheCompiledInFiles) {
    const Library library;
    EXPECT_EQ(library.origin(), Origin::BuiltIn);
    EXPECT_GE(library.version(), (Version{.parts = {2026, 11, 23, 0}}));
    EXPECT_EQ(library.find("chips")->json, compiled_in_text("chips"));
    EXPECT_EQ(library.below("applications").size(), builtin_applications().size());
    EXPECT_EQ(library.below("rules").size(), builtin_rules().size());
    EXPECT_EQ(library.find("nothing"), nullptr);
}

TEST_F(Libraries, UseTheNewestSetInAnyOrder) {
    for (const bool is_bundle_first : {false, true}) {
        Library library;
        const auto package = set_of(2030, Origin::Package, "p");
        const auto bundle = set_of(2031, Origin::Bundle, "b");
        library.add(is_bundle_first ? bundle : package);
        library.add(is_bundle_first ? package : bundle);
        EXPECT_EQ(library.find("chips")->json, "b");
        EXPECT_EQ(library.origin(), Origin::Bundle);
        EXPECT_EQ(library.find("drivers")->origin, Origin::BuiltIn);
    }
    Library library;
    EXPECT_FALSE(library.add(set_of(2020, Origin::Bundle, "old")));
    EXPECT_EQ(library.find("chips")->origin, Origin::BuiltIn);
}

TEST_F(Libraries, AreReadAgainByTheTablesWhenAnotherIsInUse) {
    ASSERT_NE(Chips::current().find_driver("nvidia"), nullptr);
    Library other;
    ASSERT_TRUE(other.add("chips", {.json = kNoDrivers, .origin = Origin::Administrator}));
    Library::use(std::make_shared<const Library>(std::move(other)));
    EXPECT_EQ(Chips::current().find_driver("nvidia"), nullptr);
    EXPECT_EQ(Chips::current().version(), "9");
    Library::use(std::make_shared<const Library>());
    EXPECT_NE(Chips::current().find_driver("nvidia"), nullptr);
}

TEST_F(Libraries, AreReadAgainByTablesThatWereForgotten) {
    static int times = 0;
    const auto table = [] { return made_of_documents([](const Library&) { return ++times; }); };
    EXPECT_EQ(table(), 1);
    EXPECT_EQ(table(), 1);
    const auto version = Chips::current().version();
    forget_tables();
    EXPECT_EQ(table(), 2);
    EXPECT_EQ(Chips::current().version(), version);
    EXPECT_NE(Chips::current().find_driver("nvidia"), nullptr);
    Library::use(std::make_shared<const Library>());
    EXPECT_EQ(table(), 3);
}

TEST_F(Libraries, FallBackToTheCompiledInFileIfAFileIsBroken) {
    Library other;
    ASSERT_TRUE(other.add("chips", {.json = "{"}));
    EXPECT_FALSE(other.add("../x", {.json = "{}"}));
    Library::use(std::make_shared<const Library>(std::move(other)));
    EXPECT_NE(Chips::current().find_driver("nvidia"), nullptr);
}

TEST_F(Libraries, ReportExpiredFiles) {
    Library library;
    EXPECT_TRUE(library.expired(*instant_of("2026-11-23")).empty());
    ASSERT_TRUE(library.add(
        "chips",
        {.json = R"({"schema":"x","issued":"2026-01-01","expires":"2026-02-01","chips":[]})"}));
    EXPECT_TRUE(library.expired(*instant_of("2026-02-01") - Duration{1}).empty());
    const auto expired = library.expired(*instant_of("2026-02-01"));
    ASSERT_EQ(expired.size(), 1U);
    EXPECT_EQ(expired[0].name, "chips");
    EXPECT_EQ(expired[0].issued, "2026-01-01");
    EXPECT_EQ(expired[0].expired, "2026-02-01");
}

TEST(DocumentHeads, AreTheMembersBeforeTheFirstList) {
    const auto head = head_of(R"({"schema":"a, {b","version":"\"1","expires":"2027-01-01","x":[1)");
    ASSERT_TRUE(head) << head.error().text;
    EXPECT_EQ(head->schema, "a, {b");
    EXPECT_EQ(head->version, "\"1");
    EXPECT_EQ(head->expires, "2027-01-01");
    EXPECT_EQ(head_of(R"({"schema":"a"})")->schema, "a");
    for (const auto* bad : {"", "{", "[]", "{}", R"({"rows":[],"schema":"a"})", R"({"schema":1})"})
        EXPECT_FALSE(head_of(bad)) << bad;
}

/// A data file without a date would never expire, and this would not be noticed.
TEST(DocumentHeads, OfEveryDocumentSayWhenItExpires) {
    for (const auto& documents : {builtin_knowledge(), builtin_causes()})
        for (const auto& document : documents) {
            const auto head = head_of(document.json);
            ASSERT_TRUE(head) << document.name;
            const auto issued = instant_of(head->issued.value_or(""));
            const auto expires = instant_of(head->expires.value_or(""));
            EXPECT_TRUE(issued && expires && *issued < *expires) << document.name;
        }
    const auto rules = head_of(compiled_in_text("rules/index"));
    EXPECT_TRUE(rules && instant_of(rules->expires.value_or("")));
}

TEST(Instants, AreDaysOrSecondsOfThem) {
    EXPECT_EQ(instant_of("1970-01-02"), WallTime{std::chrono::hours{24}});
    EXPECT_EQ(instant_of("1970-01-01T00:00:01Z"), WallTime{std::chrono::seconds{1}});
    for (const auto* bad :
         {"", "1970", "1970-13-01", "2026-02-30", "1970-01-01T24:00:00Z", "1970-01-01 00:00:00Z",
          "1970/01/01", "1970-01-01T00:00:00", "+970-01-01"})
        EXPECT_FALSE(instant_of(bad)) << bad;
}

}  // namespace library_test
}  // namespace gpuprobe::knowledge
