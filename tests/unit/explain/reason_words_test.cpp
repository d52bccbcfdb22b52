// SPDX-License-Identifier: Apache-2.0
#include "explain/reason_words.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/value.h"
#include "explain/doctor.h"
#include "policy/decision.h"

namespace gpuprobe {
namespace reason_words_test {

/// A record that has neither a GPU nor a backend.
struct Notes {
    std::vector<Reason> notes = {};
    std::optional<Reason> last = {};
    std::map<std::string, Candidate> by_name = {};
};
RECORD_MEMBERS(Notes, notes, last, by_name)

/// Adds the texts to a record, for a machine about which nothing is known.
template <class T>
T worded(T record) {
    ReasonWriter{[] { return ReasonPlace{}; }}.add_to(record);
    return record;
}

Reason closed_node() {
    return because("no-permission", {{"node", "/dev/kfd"}, {"group", "render"}});
}

Candidate rocm_on(std::optional<std::string> gpu) {
    return {.backend = "rocm",
            .gpu = std::move(gpu),
            .verdict = Verdict::Rejected,
            .reasons = {closed_node()}};
}

TEST(ReasonWriter, AddsATextAndAFix) {
    const auto reason = worded(rocm_on("a")).reasons.at(0);
    ASSERT_NE(reason.words, nullptr);
    EXPECT_EQ(reason.words->text, "no permission to open /dev/kfd (group render)");
    EXPECT_EQ(
        reason.words->fix,
        "add your account to the group, then log in again: sudo usermod -aG render \"$USER\"");
    EXPECT_EQ(reason, closed_node()) << "words do not make another reason";
}

TEST(ReasonWriter, AddsTheCommandsOfTheFix) {
    const auto notes = worded(Notes{.notes = {because("node-missing", {{"node", "/dev/nvidia0"}}),
                                              because("vendor-mismatch", {{"needs", "nvidia"}})}})
                           .notes;
    EXPECT_EQ(notes.at(0).words->commands, std::vector<std::string>{"sudo nvidia-modprobe -c0"});
    EXPECT_EQ(notes.at(1).words->fix, std::nullopt) << "nothing helps";
    EXPECT_TRUE(notes.at(1).words->commands.empty());
}

TEST(ReasonWriter, VisitsEveryRecordInside) {
    const auto record = worded(Notes{
        .notes = {closed_node()}, .last = closed_node(), .by_name = {{"first", rocm_on("a")}}});
    EXPECT_NE(record.notes.at(0).words, nullptr);
    EXPECT_NE(record.last->words, nullptr);
    EXPECT_NE(record.by_name.at("first").reasons.at(0).words, nullptr);
    const auto decision =
        worded(Decision{.candidates = {rocm_on("a"), rocm_on({})}, .warnings = {closed_node()}});
    for (const auto& candidate : decision.candidates)
        EXPECT_NE(candidate.reasons.at(0).words, nullptr);
    EXPECT_NE(decision.warnings.at(0).words, nullptr);
}

TEST(ReasonWriter, SharesTheWordsOfEqualReasonsOfOneGpuAndBackend) {
    auto other = rocm_on("a");
    other.reasons = {because("no-permission", {{"node", "/dev/dri/renderD128"}})};
    const auto candidates =
        worded(Decision{.candidates = {rocm_on("a"), rocm_on("a"), rocm_on("b"), other}})
            .candidates;
    const auto words_at = [&](std::size_t i) { return candidates.at(i).reasons.at(0).words; };
    EXPECT_EQ(words_at(0), words_at(1));
    EXPECT_NE(words_at(0), words_at(2)) << "on another GPU";
    EXPECT_NE(words_at(0), words_at(3)) << "with another detail";
}

TEST(ReasonWriter, KeepsTheWordsThatAReasonHas) {
    auto candidate = rocm_on("a");
    candidate.why = "because";
    const auto given = std::make_shared<const ReasonWords>(ReasonWords{.text = "given"});
    candidate.reasons.at(0).words = given;
    candidate = worded(std::move(candidate));
    EXPECT_EQ(candidate.reasons.at(0).words, given);
    EXPECT_EQ(candidate.why, "because");
}

TEST(ReasonWriter, ExplainsTheVerdictOfEachCandidate) {
    EXPECT_EQ(worded(rocm_on("a")).why, "no permission to open /dev/kfd (group render)");
    EXPECT_EQ(worded(Candidate{.backend = "cpu", .verdict = Verdict::Accepted}).why, "can be used");
    EXPECT_EQ(worded(VariantCandidate{.verdict = Verdict::Accepted, .gpus = {"a"}}).why,
              "runs on a");
}

// The fix
// ------------------------------------------------------------------------------------------

/// A finding of the doctor about the closed node.
Finding finding_on(const char* gpu, const char* fix) {
    return {.id = "no-permission",
            .gpus = {gpu},
            .evidence = Value{Value::Object{{"node", "/dev/kfd"}}},
            .fix = fix};
}

TEST(ReasonWriter, TakesTheFixForTheGpuOfTheCandidate) {
    const std::vector<Finding> findings{finding_on("b", "of b"), finding_on("a", "of a")};
    Decision decision{.candidates = {rocm_on("a"), rocm_on("b")}};
    ReasonWriter{[&findings] { return ReasonPlace{.findings = &findings}; }}.add_to(decision);
    EXPECT_EQ(decision.candidates.at(0).reasons.at(0).words->fix, "of a");
    EXPECT_EQ(decision.candidates.at(1).reasons.at(0).words->fix, "of b");
}

/// Examining the machine may take some time.
TEST(ReasonWriter, AsksForThePlaceOnceAndOnlyIfThereIsAReason) {
    int asked = 0;
    ReasonWriter writer{[&asked] {
        ++asked;
        return ReasonPlace{};
    }};
    Notes none;
    writer.add_to(none);
    EXPECT_EQ(asked, 0);
    Notes some{.notes = {closed_node(), because("strict")}, .last = closed_node()};
    writer.add_to(some);
    writer.add_to(some);
    EXPECT_EQ(asked, 1);
}

// The subject
// --------------------------------------------------------------------------------------

ReasonTarget subject_of(Value::Object detail) {
    return worded(Notes{.last = because("no-permission", std::move(detail))}).last->words->subject;
}

TEST(ReasonSubject, IsTheGpuAndTheApiOfTheCandidate) {
    const auto subject = worded(rocm_on("a")).reasons.at(0).words->subject;
    EXPECT_EQ(subject.gpu, "a");
    EXPECT_EQ(subject.api, "hip");
    EXPECT_EQ(subject.path, "/dev/kfd");
    // The CPU has no API.
    auto cpu = rocm_on("a");
    cpu.backend = "cpu";
    EXPECT_EQ(worded(cpu).reasons.at(0).words->subject.api, std::nullopt);
}

TEST(ReasonSubject, IsTheNameInTheDetailIfNoGpuIsKnown) {
    const auto named = subject_of({{"gpu", "pci:0000:01:00.0"}, {"api", "vulkan"}});
    EXPECT_EQ(named.gpu, "pci:0000:01:00.0");
    EXPECT_EQ(named.api, "vulkan");
    EXPECT_EQ(named.path, std::nullopt);
    EXPECT_EQ(subject_of({{"where", "pci:0000:01:00.0"}}).gpu, "pci:0000:01:00.0");
    EXPECT_EQ(subject_of({{"where", "linux-x86_64"}}).gpu, std::nullopt) << "not a GPU";
    EXPECT_EQ(subject_of({{"library", "libcuda.so.1"}, {"manifest", "/etc/a.json"}}).path,
              "/etc/a.json");
    const auto nothing = subject_of({});
    EXPECT_EQ(nothing.gpu, std::nullopt);
    EXPECT_EQ(nothing.api, std::nullopt);
    EXPECT_EQ(nothing.path, std::nullopt);
}

/// A warning of a decision may be about another backend than the chosen backend.
TEST(ReasonSubject, OfAWarningIsNotTheChosenBackend) {
    const auto decision =
        worded(Decision{.backend = "rocm", .warnings = {because("strict", {{"api", "vulkan"}})}});
    EXPECT_EQ(decision.warnings.at(0).words->subject.api, "vulkan");
}

TEST(ReasonWords, AreWrittenBetweenTheCodeAndTheDetail) {
    const auto reason = worded(rocm_on("a")).reasons.at(0);
    EXPECT_EQ(
        json_line(to_value(reason)),
        R"({"code":"no-permission",)"
        R"-("text":"no permission to open /dev/kfd (group render)",)-"
        R"("fix":"add your account to the group, then log in again: sudo usermod -aG render \"$USER\"",)"
        R"("commands":["sudo usermod -aG render \"$USER\""],)"
        R"("subject":{"gpu":"a","api":"hip","path":"/dev/kfd"},)"
        R"("detail":{"node":"/dev/kfd","group":"render"}})");
    EXPECT_EQ(json_line(to_value(closed_node())),
              R"({"code":"no-permission","detail":{"node":"/dev/kfd","group":"render"}})");
    const auto back = record_from<Reason>(to_value(reason));
    ASSERT_TRUE(back) << back.error().text;
    ASSERT_NE(back->words, nullptr);
    EXPECT_EQ(to_value(*back), to_value(reason));
}

}  // namespace reason_words_test
}  // namespace gpuprobe
