// SPDX-License-Identifier: Apache-2.0
#include "knowledge/chips.h"

#include <fstream>
#include <iostream>
#include <sstream>

#include <gtest/gtest.h>

#include "base/text.h"
#include "base/value.h"
#include "knowledge/library.h"
#include "support/places.h"

namespace gpuprobe::knowledge {
namespace chips_test {

std::string text_of_file(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream{path}.rdbuf();
    return text.str();
}

std::string document(const std::string& chips, const std::string& vendors = "") {
    return R"({"schema": "gpuprobe.chips/1", "version": "1", "vendors": [)" + vendors +
           R"(], "chips": [)" + chips + R"(], "compatibles": [], "drivers": []})";
}

constexpr const char* kCard =
    R"({"vendor_id": "1002", "ids": "73a0-73a5 73bf", "role": "gpu", "form": "discrete", "source": "x"})";

TEST(Chips, AreCompiledIn) {
    const auto& chips = Chips::current();
    EXPECT_FALSE(chips.version().empty());
    const auto* chip = chips.find("10de", "2684", "0300");
    ASSERT_TRUE(chip);
    EXPECT_EQ(chip->role, Role::Gpu);
    EXPECT_EQ(chip->form, Form::Discrete);
    EXPECT_EQ(chip->architecture, "8.9");
}

TEST(Chips, AreFoundByRangeAndByClass) {
    const auto chips = Chips::from(
        document(std::string{kCard} +
                 R"(, {"vendor_id": "1002", "ids": "*", "class": "0300", "role": "gpu"})"));
    ASSERT_TRUE(chips);
    for (const auto* id : {"73a0", "73a3", "73a5", "73bf"})
        EXPECT_TRUE(chips->find("1002", id, "0300")->is_specific()) << id;
    for (const auto* id : {"739f", "73a6", "73c0", "zzzz", ""})
        EXPECT_FALSE(chips->find("1002", id, "030000")->is_specific()) << id;
    EXPECT_EQ(chips->find("1002", "73a6", "1200"), nullptr);
    EXPECT_EQ(chips->find("1003", "73a0", "0300"), nullptr);
    EXPECT_EQ(chips->find("", "73a0", "0300"), nullptr);
}

TEST(Chips, KnowTheVideoEnginesThatChipsLack) {
    const auto& built_in = Chips::current();
    EXPECT_EQ(built_in.video_lacks_of("nvidia", "gh100"), "encode");
    EXPECT_EQ(built_in.video_lacks_of("nvidia", "gm108"), "decode encode");
    EXPECT_EQ(built_in.video_lacks_of("nvidia", "ad102"), "");
    EXPECT_EQ(built_in.video_lacks_of("amd", "gh100"), "");
    auto text = document("");
    EXPECT_EQ(Chips::from(text)->video_lacks_of("nvidia", "gh100"), "") << "a table without it";
    text.insert(text.size() - 1,
                R"(, "video": [{"vendor": "a", "chips": "b c", "lacks": "encode"}])");
    const auto chips = Chips::from(text);
    ASSERT_TRUE(chips) << chips.error().text;
    EXPECT_EQ(chips->video_lacks_of("a", "c"), "encode");
    EXPECT_EQ(chips->video_lacks_of("a", "b c"), "");
}

TEST(Chips, FindTheFirstCompatibleStringThatIsKnown) {
    const std::vector<std::string> rk3588{"rockchip,rk3588-mali", "arm,mali-valhall-csf"};
    const auto* chip = Chips::current().find_compatible(rk3588);
    ASSERT_TRUE(chip);
    EXPECT_EQ(chip->vendor, "arm");
    EXPECT_EQ(chip->role, Role::Gpu);
    EXPECT_EQ(Chips::current().find_compatible({}), nullptr);
}

/// The compiled-in data files have one row per line; any other layout is read as JSON.
TEST(Chips, AreTheSameReadAsLinesAndAsJson) {
    const auto text = compiled_in_text("chips");
    ASSERT_TRUE(DocumentLines::of(text));
    const auto one_line = "{ " + std::string{text.substr(text.find('\n') + 1)};
    ASSERT_FALSE(DocumentLines::of(one_line));
    const auto lines = Chips::from(text);
    const auto json = Chips::from(one_line);
    ASSERT_TRUE(lines && json);
    EXPECT_EQ(lines->version(), json->version());
    const auto document = parse_json(one_line, mib(1)).value();
    const auto word = [](const Value& row, const char* key) { return *row.at(key).as_string(); };
    std::size_t count = 0;
    for (const auto& row : *document.at("chips").as_array()) {
        const auto ids = word(row, "ids");
        const auto pci_class = row.at("class").as_string() ? word(row, "class") : "";
        const auto* chip = lines->find(word(row, "vendor_id"), ids.substr(0, 4), pci_class);
        ASSERT_TRUE(chip) << ids;
        EXPECT_EQ(*chip, *json->find(word(row, "vendor_id"), ids.substr(0, 4), pci_class));
        ++count;
    }
    EXPECT_GT(count, 500U);
    for (const auto& row : *document.at("compatibles").as_array()) {
        const std::vector<std::string> key{word(row, "compatible")};
        EXPECT_EQ(*lines->find_compatible(key), *json->find_compatible(key));
    }
    for (const auto& row : *document.at("drivers").as_array())
        EXPECT_EQ(*lines->find_driver(word(row, "driver")),
                  *json->find_driver(word(row, "driver")));
    for (const auto& row : *document.at("vendors").as_array()) {
        const auto* vendor = lines->vendor(word(row, "vendor"));
        ASSERT_TRUE(vendor);
        EXPECT_EQ(vendor->name, word(row, "name"));
        EXPECT_EQ(vendor->vendor_ids, word(row, "vendor_ids"));
        EXPECT_EQ(vendor->makes, word(row, "makes"));
    }
}

struct BadDocument {
    const char* name;
    std::string text;
    const char* where;
};
class BadChips : public testing::TestWithParam<BadDocument> {};

TEST_P(BadChips, AreRefusedWithThePlace) {
    const auto chips = Chips::from(GetParam().text);
    ASSERT_FALSE(chips);
    EXPECT_NE(chips.error().text.find(GetParam().where), std::string::npos) << chips.error().text;
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    BadChips,
    testing::Values(
        BadDocument{"NotJson", "{", ""},
        BadDocument{"OtherSchema", R"({"schema": "gpuprobe.chips/2", "version": "1"})", "schema"},
        BadDocument{"IdTwice", document(std::string{kCard} + "," + kCard), "73a0"},
        BadDocument{"RangeBackwards", document(R"({"vendor_id": "1002", "ids": "73a5-73a0"})"),
                    "ids"},
        BadDocument{"IdTooLong", document(R"({"vendor_id": "1002", "ids": "173a5"})"), "ids"},
        BadDocument{"NoVendor", document(R"({"ids": "73a5"})"), "vendor_id"},
        BadDocument{"AllWithoutClass", document(R"({"vendor_id": "1002", "ids": "*"})"), "class"},
        BadDocument{"UnknownRole", document(R"({"vendor_id": "1002", "ids": "1", "role": "toy"})"),
                    "role"},
        BadDocument{
            "VendorTwice",
            document("", R"({"vendor": "a", "name": "A", "vendor_ids": "1 1", "makes": "gpu"})"),
            "vendor_ids"}),
    [](const auto& row) { return std::string{row.param.name}; });

/// The data from the drivers' own tables, without our hand-written rows.
class Claims : public testing::Test {
protected:
    struct Count {
        unsigned ids = 0;
        unsigned excepted = 0;
    };

    bool is_excepted(const Value& claim, std::string_view id, std::string_view member) const {
        for (const auto& exception : *claimed.at("exceptions").as_array()) {
            const auto ids = *exception.at("ids").as_string();
            if (exception.at("by") == claim.at("by") && exception.at("member") == Value{member} &&
                (ids == "*" || ids.find(id) != std::string::npos))
                return true;
        }
        return false;
    }

    void compare(const Value& claim, std::uint16_t id) {
        char digits[5];
        std::snprintf(digits, sizeof digits, "%04x", id);
        const auto* chip =
            Chips::current().find(*claim.at("vendor_id").as_string(), digits, "0300");
        auto& count = counts[*claim.at("by").as_string()];
        ++count.ids;
        const auto expect = [&](const char* member, const std::string& has) {
            const auto wanted = claim.at(member).as_string();
            if (!wanted || *wanted == has)
                return;
            if (is_excepted(claim, digits, member))
                ++count.excepted;
            else
                ADD_FAILURE() << json_line(claim.at("by")) << " " << digits << ": " << member
                              << ": " << *wanted << ", here " << has;
        };
        ASSERT_TRUE(chip) << json_line(claim.at("by")) << " " << digits;
        const auto* vendor = Chips::current().vendor_of_id(*claim.at("vendor_id").as_string());
        ASSERT_TRUE(vendor);
        expect("vendor", vendor->vendor);
        expect("role", chip->role ? std::string{name_of(*chip->role)} : "");
        expect("architecture", chip->architecture.value_or(""));
        const auto integrated = claim.at("integrated").as_bool();
        if (integrated) {
            EXPECT_EQ(*integrated, chip->form == Form::Integrated)
                << json_line(claim.at("by")) << " " << digits;
        }
    }

    void compare_all(const Value& claim) {
        for (const auto& word : words(*claim.at("ids").as_string())) {
            const auto first = *parse_hex<std::uint16_t>(word.substr(0, 4));
            const auto last = word.size() > 4 ? *parse_hex<std::uint16_t>(word.substr(5)) : first;
            for (unsigned id = first; id <= last; ++id)
                compare(claim, static_cast<std::uint16_t>(id));
        }
    }

    Value claimed = parse_json(text_of_file(std::string{GPUPROBE_SOURCE_DIR} +
                                            "/tests/data/chips/claimed.json"),
                               mib(1))
                        .value();
    std::map<std::string, Count> counts = {};
};

TEST_F(Claims, OfEachDriverAreMet) {
    for (const auto& claim : *claimed.at("claims").as_array())
        compare_all(claim);
    for (const auto& [by, count] : counts)
        std::cout << by << ": " << count.ids << " ids, " << count.excepted << " excepted\n";
    EXPECT_GT(counts.size(), 20U);
    EXPECT_GT(counts.at("amdgpu").ids, 250U);
    EXPECT_GT(counts.at("i915").ids, 300U);
}

TEST_F(Claims, EveryVendorOfADisplayHasAVendor) {
    for (const auto& vendor : *claimed.at("vendor_ids").as_array())
        EXPECT_TRUE(Chips::current().vendor_of_id(*vendor.as_string())) << json_line(vendor);
}

}  // namespace chips_test
}  // namespace gpuprobe::knowledge
