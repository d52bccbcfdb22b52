// SPDX-License-Identifier: Apache-2.0
#include "knowledge/bundle.h"

#include <gtest/gtest.h>

#include "support/signed_bundle.h"

namespace gpuprobe::knowledge {
namespace bundle_test {

using support::bundle_message;
using support::head_for;
using support::message_of;
using support::public_key_file;
using support::release_of;
using support::signed_by;
using Texts = std::map<std::string, std::string>;

const Texts kTexts{{"drivers", R"({"schema":"gpuprobe.drivers/1","drivers":[]})"},
                   {"release", release_of("2027.1.1", "2028-01-01")}};
const WallTime kNow = *instant_of("2027-02-01");

std::string problem_of(const std::string& message) {
    const auto bundle = bundle_from(message, nullptr, "b");
    return bundle ? "" : bundle.error().text;
}

/// The problem that is found in a bundle whose head was changed.
template <class Change>
std::string problem_with(const Change& change) {
    auto head = head_for(kTexts, "2027.1.1", "2028-01-01");
    change(head);
    return problem_of(message_of(head, kTexts));
}

TEST(Bundle, ContainsItsDataFiles) {
    const auto message = message_of(head_for(kTexts, "2027.1.1", "2028-01-01"), kTexts);
    const auto bundle = bundle_from(message, nullptr, "b");
    ASSERT_TRUE(bundle) << bundle.error().text;
    EXPECT_EQ(text_of(bundle->set.version), "2027.1.1");
    ASSERT_EQ(bundle->set.documents.size(), 2U);
    EXPECT_EQ(bundle->set.documents.at("drivers").json, kTexts.at("drivers"));
    EXPECT_EQ(bundle->set.documents.at("drivers").origin, Origin::Bundle);
}

TEST(Bundle, IsRefusedCutAtEachByte) {
    const auto message = message_of(head_for(kTexts, "2027.1.1", "2028-01-01"), kTexts);
    for (std::size_t size = 0; size < message.size(); ++size)
        EXPECT_FALSE(bundle_from(std::string_view{message}.substr(0, size), nullptr, "b")) << size;
    EXPECT_EQ(problem_of(message + " "),
              "bundle: documents: has more data than its header declares");
}

TEST(Bundle, IsRefusedWithABitFlipped) {
    const auto message = message_of(head_for(kTexts, "2027.1.1", "2028-01-01"), kTexts);
    const auto file = signed_by(1, message);
    const auto key = public_key_from(public_key_file(1), "test.pub").value();
    const auto start = file.find('\n') + 1;  // the comment is not signed
    for (auto at = start; at < file.size(); ++at)
        for (unsigned bit = 0; bit < 8; ++bit) {
            auto changed = file;
            changed[at] = static_cast<char>(changed[at] ^ static_cast<char>(1U << bit));
            const auto parts = signed_text_in(changed);
            EXPECT_FALSE(parts && signer_of(*parts, {&key, 1}, kNow)) << at << " " << bit;
        }
}

TEST(Bundle, IsRefusedWithAHeadThatLies) {
    const auto entry = [](Value& head, std::size_t at) -> Value& {
        return (*head["documents"].as_array())[at];
    };
    EXPECT_EQ(problem_with([](Value& head) { head["schema"] = "gpuprobe.bundle/2"; }),
              "bundle: schema: expected gpuprobe.bundle/1");
    EXPECT_EQ(problem_with([](Value& head) { head["version"] = "new"; }),
              "bundle: version: expected numbers separated by dots");
    EXPECT_EQ(problem_with([](Value& head) { head["version"] = "2027.1.2"; }),
              "bundle: release: has a version that differs from the bundle's version");
    EXPECT_EQ(problem_with([](Value& head) { head["expires"] = "2026-12-01"; }),
              "bundle: expires: expected a date after the date in issued");
    EXPECT_EQ(problem_with([&](Value& head) { entry(head, 0)["bytes"] = std::int64_t{1} << 40; }),
              "bundle: drivers: cut short");
    EXPECT_EQ(problem_with([&](Value& head) { entry(head, 0)["sha256"] = std::string(64, '0'); }),
              "bundle: drivers: does not match its sha256");
    EXPECT_EQ(problem_with([&](Value& head) { std::swap(entry(head, 0), entry(head, 1)); }),
              "bundle: drivers: not unique, or not sorted by name");
    EXPECT_EQ(problem_with([&](Value& head) {
                  const Value twin = entry(head, 0);
                  head["documents"].push_back(twin);
              }),
              "bundle: drivers: not unique, or not sorted by name");
    EXPECT_EQ(problem_with([&](Value& head) {
                  for (int i = 0; i < 1025; ++i)
                      head["documents"].push_back(entry(head, 0));
              }),
              "bundle: documents: more than 1024");
}

TEST(Bundle, IsRefusedWithAMemberTwice) {
    auto message = message_of(head_for(kTexts, "2027.1.1", "2028-01-01"), kTexts);
    message.insert(1, R"("version":"2027.1.1",)");
    EXPECT_NE(problem_of(message), "");
}

TEST(Bundle, TakesNoNameThatLeadsAnywhere) {
    for (const auto* name :
         {"../chips", "applications/../chips", "/etc/passwd", "applications//x", "applications/.x",
          "applications/a/b", "rules/new", "new", "", "applications/", "applications", "causes/a b",
          "applications/x\n", "applications/\xc3\xa9", "CHIPS"})
        EXPECT_FALSE(is_document_name(name)) << name;
    for (const auto* name : {"chips", "release", "causes/access", "causes/new",
                             "applications/torch", "applications/my.own-1", "rules/cuda_sm"})
        EXPECT_TRUE(is_document_name(name)) << name;
    const Texts texts{{"../chips", "{}"}, {"release", release_of("2027.1.1", "2028-01-01")}};
    EXPECT_EQ(problem_of(message_of(head_for(texts, "2027.1.1", "2028-01-01"), texts)),
              "bundle: ../chips: not the name of a data file");
}

TEST(Bundle, TakesNoDocumentOfAnotherSchema) {
    EXPECT_EQ(problem_of(bundle_message({{"drivers", R"({"schema":"gpuprobe.drivers/2"})"}})),
              "bundle: drivers: schema: expected gpuprobe.drivers/1");
    EXPECT_EQ(problem_of(bundle_message({{"causes/new", R"({"schema":"gpuprobe.chips/1"})"}})),
              "bundle: causes/new: schema: expected gpuprobe.causes/1");
    EXPECT_NE(problem_of(bundle_message({{"drivers", "[]"}})), "");
}

}  // namespace bundle_test
}  // namespace gpuprobe::knowledge
