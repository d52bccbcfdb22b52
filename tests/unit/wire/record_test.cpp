// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "base/value.h"
#include "policy/decision.h"
#include "report/report.h"
#include "wire/dictionary.h"

namespace gpuprobe::bus {
namespace record_test {

Value parsed(const char* json) {
    auto value = parse_json(json, kib(4));
    EXPECT_TRUE(value) << json;
    return value ? std::move(value).value() : Value{};
}

/// Objects are called like their GPU, and each reason says its code aloud.
BusEncoding encoding() {
    return {.path_of = [](const std::string& id) { return "/" + id; },
            .add_words =
                [](const Reason& reason, const ReasonOwner& owner, Dictionary& entry) {
                    entry.emplace("Text", sdbus::Variant{reason.code + "!"});
                    entry.emplace("Owner", sdbus::Variant{owner.backend + " of " + owner.gpu});
                }};
}

std::string type_of(const Dictionary& dictionary, const char* key) {
    const auto found = dictionary.find(key);
    return found == dictionary.end() ? "" : signature_in(found->second);
}

Decision some_decision() {
    return {.application = "whisper",
            .backend = "cuda",
            .gpus = {"a", "b"},
            .environment = {{"CUDA_VISIBLE_DEVICES", "0"}},
            .summary = "requested=auto",
            .candidates = {{.backend = "cuda", .gpu = "a", .verdict = Verdict::Accepted},
                           {.backend = "cpu",
                            .verdict = Verdict::Rejected,
                            .reasons = {{.code = "strict"},
                                        {.code = "driver-too-old",
                                         .detail = parsed(R"({"need":"2","have":null})")}}}},
            .generation = 7};
}

TEST(Record, HasTheTypesOfTheInterface) {
    const auto answer = dictionary_of(some_decision(), encoding());
    const std::pair<const char*, const char*> types[] = {
        {"Backend", "s"},     {"Gpus", "ao"},     {"Environment", "a{ss}"}, {"Decision", "s"},
        {"Answers", "a{ss}"}, {"Messages", "as"}, {"Candidates", "aa{sv}"}, {"Generation", "t"}};
    for (const auto& [key, type] : types)
        EXPECT_EQ(type_of(answer, key), type) << key;
    const auto candidates = answer.at("Candidates").get<std::vector<Dictionary>>();
    EXPECT_EQ(type_of(candidates[0], "Gpu"), "o");
    EXPECT_FALSE(candidates[1].contains("Gpu"));
    const auto reasons = candidates[1].at("Reasons").get<std::vector<Dictionary>>();
    EXPECT_EQ(reasons[0].at("Text").get<std::string>(), "strict!");
    EXPECT_FALSE(reasons[0].contains("Detail"));
    EXPECT_EQ(type_of(reasons[1], "Detail"), "a{sv}");
}

TEST(Record, TellsWhoseReasonsItWrites) {
    auto decision = some_decision();
    decision.candidates[0].reasons = {{.code = "strict"}};
    const auto answer = dictionary_of(decision, encoding(), {"backend"});
    std::vector<std::string> owners;
    for (const auto& candidate : answer.at("Candidates").get<std::vector<Dictionary>>())
        owners.push_back(candidate.at("Reasons")
                             .get<std::vector<Dictionary>>()[0]
                             .at("Owner")
                             .get<std::string>());
    EXPECT_EQ(owners, (std::vector<std::string>{"cuda of a", "cpu of "}));
}

TEST(Record, SpellsNumbersBySignAndWidth) {
    const auto entry = dictionary_of(QuarantinedProbe{.times = 3, .since = WallTime{Duration{5}}});
    EXPECT_EQ(type_of(entry, "Times"), "u");
    EXPECT_EQ(type_of(entry, "SinceUsec"), "x");
    EXPECT_EQ(type_of(entry, "Why"), "s");
    EXPECT_FALSE(entry.contains("Note"));
    const auto memory = dictionary_of(GpuMemory{.free = Bytes{1}});
    EXPECT_EQ(type_of(memory, "Free"), "t");
    EXPECT_FALSE(memory.contains("Physical"));
    EXPECT_EQ(type_of(dictionary_of(VariantCandidate{}), "Tier"), "x");
    EXPECT_EQ(type_of(dictionary_of(BackendView{.score = 0.5}), "Score"), "d");
}

TEST(Record, LeavesOutWhatIsAskedForNot) {
    const auto answer = dictionary_of(some_decision(), encoding(), {"candidates", "application"});
    EXPECT_FALSE(answer.contains("Candidates"));
    EXPECT_FALSE(answer.contains("Application"));
    EXPECT_TRUE(answer.contains("Backend"));
}

TEST(Record, NamesGpusByTheirObjects) {
    const auto answer = dictionary_of(some_decision(), encoding());
    std::vector<std::string> gpus;
    for (const auto& path : answer.at("Gpus").get<std::vector<sdbus::ObjectPath>>())
        gpus.push_back(path);
    EXPECT_EQ(gpus, (std::vector<std::string>{"/a", "/b"}));
    const auto candidates = answer.at("Candidates").get<std::vector<Dictionary>>();
    const std::string gpu = candidates[0].at("Gpu").get<sdbus::ObjectPath>();
    EXPECT_EQ(gpu, "/a");
}

TEST(Record, KeepsTheOrderOfDataThatIsPassedOn) {
    const Recommendation recommendation{
        .artifact =
            parsed(R"({"type":"file","urls":["https://b","https://a"],"size":1,"x":null})")};
    const auto artifact = value_from(dictionary_of(recommendation).at("Artifact"));
    ASSERT_TRUE(artifact) << artifact.error().text;
    EXPECT_EQ(json_line(*artifact),
              R"({"type":"file","urls":["https://b","https://a"],"size":1,"x":[]})");
}

TEST(Record, HoldsOnlyTextThatTheBusTakes) {
    const Decision decision{.backend = "a\xff", .environment = {{"K\xff", "V\xff"}}};
    const auto answer = dictionary_of(decision);
    EXPECT_EQ(answer.at("Backend").get<std::string>(), "a\xEF\xBF\xBD");
    const auto variables = answer.at("Environment").get<std::map<std::string, std::string>>();
    EXPECT_EQ(variables.begin()->second, "V\xEF\xBF\xBD");
}

}  // namespace record_test
}  // namespace gpuprobe::bus
