// SPDX-License-Identifier: Apache-2.0
#include "service/answers.h"

#include <gtest/gtest.h>

#include "base/value_json.h"

namespace gpuprobe {
namespace {

sdbus::ObjectPath path_of(const std::string& /*id*/) {
    return sdbus::ObjectPath{"/gpu"};
}

Decision decision_with(std::size_t candidates, std::size_t detail) {
    Decision decision{.consumer = "whisper", .summary = "requested=auto selected=none"};
    Value facts;
    facts["text"] = Value{std::string(detail, 'x')};
    for (std::size_t i = 0; i < candidates; ++i)
        decision.candidates.push_back(
            Candidate{.backend = "cuda",
                      .verdict = Verdict::Rejected,
                      .reasons = {{.code = "not-built", .detail = facts}}});
    return decision;
}

Value trace_of(const Decision& decision) {
    const auto message = no_match_message(decision);
    const auto end = message.find('\n');
    EXPECT_NE(end, std::string::npos);
    EXPECT_LE(message.size() - end - 1, kMaxTrace.count);
    auto trace = parse_json(message.substr(end + 1), kMaxTrace);
    EXPECT_TRUE(trace);
    return trace ? *trace : Value{};
}

TEST(Answer, HoldsWhatTheInterfacePromises) {
    auto decision = decision_with(1, 1);
    decision.backend = "vulkan";
    decision.gpus = {"pci:0000:03:00.0"};
    decision.generation = 7;
    const auto answer = answer_from(decision, path_of);
    EXPECT_EQ(answer.at("Backend").get<std::string>(), "vulkan");
    EXPECT_EQ(answer.at("Gpus").get<std::vector<sdbus::ObjectPath>>().size(), 1U);
    EXPECT_EQ(answer.at("Generation").get<std::uint64_t>(), 7U);
    const auto candidates = answer.at("Candidates").get<std::vector<bus::Dictionary>>();
    ASSERT_EQ(candidates.size(), 1U);
    EXPECT_EQ(candidates[0].at("Verdict").get<std::string>(), "rejected");
    EXPECT_FALSE(candidates[0].contains("Gpus"));
    const auto reasons = candidates[0].at("Reasons").get<std::vector<std::string>>();
    EXPECT_EQ(reasons, std::vector<std::string>{R"(not-built {"text":"x"})"});
}

std::vector<bus::Dictionary> entries_of(const std::vector<Candidate>& candidates) {
    Decision decision{.consumer = "whisper", .candidates = candidates};
    return answer_from(decision, [](const std::string& id) { return sdbus::ObjectPath{"/" + id}; })
        .at("Candidates")
        .get<std::vector<bus::Dictionary>>();
}

TEST(Answer, TellsCandidatesThatDifferInTheirGpuOnce) {
    const auto on = [](const char* gpu, Verdict verdict) {
        return Candidate{.backend = "cuda", .gpu = gpu, .verdict = verdict};
    };
    const auto entries = entries_of({on("a", Verdict::Accepted), on("b", Verdict::Accepted),
                                     on("c", Verdict::Unknown), on("d", Verdict::Accepted)});
    ASSERT_EQ(entries.size(), 3U);  // only neighbours, so that the order can be restored
    const auto gpus = entries[0].at("Gpus").get<std::vector<sdbus::ObjectPath>>();
    EXPECT_EQ(gpus,
              (std::vector<sdbus::ObjectPath>{sdbus::ObjectPath{"/a"}, sdbus::ObjectPath{"/b"}}));
    EXPECT_EQ(entries[1].at("Verdict").get<std::string>(), "unknown");
}

TEST(Answer, TellsCandidatesApartByBackendReasonsAndGpu) {
    const Candidate base{.backend = "cuda", .gpu = "a"};
    auto other_backend = base;
    other_backend.backend = "vulkan";
    auto with_reason = base;
    with_reason.reasons = {{.code = "asleep"}};
    auto without_gpu = base;
    without_gpu.gpu.reset();
    for (const auto& other : {other_backend, with_reason, without_gpu}) {
        EXPECT_EQ(entries_of({base, other}).size(), 2U);
        EXPECT_EQ(entries_of({other, base}).size(), 2U);
    }
    EXPECT_EQ(entries_of({without_gpu, without_gpu}).size(), 2U);
}

TEST(Answer, LeavesOutReasonsAndDetailsThatAreEmpty) {
    const auto entries =
        entries_of({{.backend = "cuda"}, {.backend = "vulkan", .reasons = {{.code = "asleep"}}}});
    EXPECT_FALSE(entries[0].contains("Reasons"));
    const auto reasons = entries[1].at("Reasons").get<std::vector<std::string>>();
    EXPECT_EQ(reasons, std::vector<std::string>{"asleep"});
}

TEST(MemoryAnswer, LeavesOutWhatIsUnknown) {
    EXPECT_FALSE(answer_from(engine::LiveMemory{}).contains("Free"));
    const auto answer =
        answer_from(engine::LiveMemory{.kind = MemoryKind::Dedicated, .free = Bytes{0}});
    EXPECT_EQ(answer.at("Free").get<std::uint64_t>(), 0U);
    EXPECT_EQ(answer.at("Kind").get<std::string>(), "dedicated");
}

TEST(ProbeAnswer, HoldsTheProbesAskedFor) {
    Report report{.generation = 3};
    report.probes = {{.api = "vulkan", .stage = "query"},
                     {.api = "opencl", .stage = "query"},
                     {.api = "opencl", .stage = "verify", .device = "index:0"}};
    const auto count = [&report](const std::vector<std::string>& apis,
                                 const char* stage = "query") {
        const auto answer = probe_answer(report, {.apis = apis, .stage = stage});
        return answer.at("Probes").get<std::vector<bus::Dictionary>>().size();
    };
    EXPECT_EQ(count({}), 2U);
    EXPECT_EQ(count({"opencl"}), 1U);
    EXPECT_EQ(count({"cuda"}), 0U);
    EXPECT_EQ(count({}, "verify"), 1U);
    EXPECT_EQ(count({"vulkan"}, "verify"), 0U);
}

TEST(NoMatchMessage, CarriesTheWholeTraceWhenItFits) {
    const auto trace = trace_of(decision_with(2, 10));
    ASSERT_EQ(trace.at("candidates").as_array()->size(), 2U);
    const auto& reasons = trace.at("candidates").as_array()->front().at("reasons");
    EXPECT_EQ(reasons.as_array()->front().at("detail").at("text"), Value{"xxxxxxxxxx"});
}

TEST(NoMatchMessage, DropsDetailsThenReasonsThenCandidates) {
    const auto without_details = trace_of(decision_with(100, 1000));
    EXPECT_EQ(without_details.at("candidates").as_array()->size(), 100U);
    const auto without_reasons = trace_of(decision_with(400, 1));
    EXPECT_EQ(without_reasons.at("candidates").as_array()->size(), 400U);
    const auto bare = trace_of(decision_with(10'000, 1));
    EXPECT_EQ(bare.at("candidates").as_array()->size(), 0U);
}

}  // namespace
}  // namespace gpuprobe
