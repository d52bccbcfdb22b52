// SPDX-License-Identifier: Apache-2.0
#include "cli/client.h"

#include <gtest/gtest.h>

#include "base/value.h"
#include "calls/documents.h"

namespace gpuprobe {
namespace client_test {

/// Gives the same answers to each call, and stores the last call.
class FakeTransport final : public Client {
public:
    explicit FakeTransport(MethodAnswer answer) : answer_{std::move(answer)} {}

    Result<MethodAnswer> call(const MethodCall& call, const HearAnswer& heard_before) override {
        asked = call.method + " " + json_line(call.parameters);
        if (is_lost)
            return Error{ErrorCode::Unavailable, "no daemon"};
        for (const auto* share : {"0.5", "1"})
            if (heard_before)
                heard_before(
                    {.document = std::string{R"({"progress":)"} + share + "}", .continues = true});
        return answer_;
    }
    Status watch(const std::function<void()>&) override { return Done{}; }
    Status capture(const std::string&, engine::Redaction*) override { return Done{}; }
    [[nodiscard]] bool is_daemon() const override { return true; }

    std::string asked = {};
    bool is_lost = false;

private:
    MethodAnswer answer_;
};

MethodAnswer refusal(const char* name, const char* message) {
    return {.error = std::string{"org.gpuprobe."} + name,
            .document = std::string{R"({"name":"org.gpuprobe.GpuProbe1.Error.)"} + name +
                        R"(","message":")" + message + R"(","candidates":[]})"};
}

TEST(Client, CallsMethodsWithTheirParameters) {
    FakeTransport client{MethodAnswer{.document = R"({"cleared":true})"}};
    EXPECT_EQ(client.ask("ClearOverride", Value::Object{{"application", "torch"}})->at("cleared"),
              Value{true});
    EXPECT_EQ(client.asked, R"(org.gpuprobe.ClearOverride {"application":"torch"})");
    EXPECT_TRUE(client.ask("org.varlink.service.GetInfo"));
    EXPECT_EQ(client.asked, "org.varlink.service.GetInfo {}");
}

TEST(Client, RefusesACandidateWithoutAValueForEachGpu) {
    const auto chosen = [](const char* values) {
        Decision decision{.application = "torch", .backend = "cuda"};
        decision.candidates = {{.backend = "cuda", .gpu = "pci:1", .also = {"pci:2", "pci:3"}}};
        auto document = to_value(decision);
        document["candidates"].as_array()->front()["also_environment"]["A"] =
            *parse_json(values, kib(1));
        FakeTransport client{MethodAnswer{.document = json_line(document)}};
        return client.select("torch", Value{});
    };
    EXPECT_TRUE(chosen(R"(["2","3"])"));
    for (const auto* values : {R"(["2"])", R"(["2","3","4"])", "[]"})
        EXPECT_EQ(chosen(values).error().code, ErrorCode::Malformed) << values;
}

TEST(Client, TurnsErrorRepliesIntoErrors) {
    FakeTransport client{refusal("NotAuthorized", "not for you")};
    const auto refused = client.ask("SetOverride");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, ErrorCode::NotAuthorized);
    EXPECT_EQ(refused.error().text, "not for you");
    FakeTransport other{MethodAnswer{.error = "org.varlink.service.MethodNotFound",
                                     .document = R"({"method":"org.gpuprobe.ListApplications"})"}};
    EXPECT_EQ(other.ask("ListApplications").error().code, ErrorCode::Internal);
}

TEST(Client, NamesTheMemberThatIsMalformed) {
    FakeTransport client{MethodAnswer{.document = R"({"applications":1})"}};
    EXPECT_EQ(client.ask_for<ApplicationList>("ListApplications").error().text,
              "the answer on the daemon's socket: applications: expected array, found integer");
}

TEST(Client, ReturnsNoMatchAsADecision) {
    FakeTransport client{MethodAnswer{
        .error = "org.gpuprobe.NoMatch",
        .document = R"({"name":"org.gpuprobe.GpuProbe1.Error.NoMatch","message":"nothing",)"
                    R"("candidates":[{"backend":"cuda","gpu":null,"verdict":"rejected",)"
                    R"("reasons":[],"environment":{}}],"application":"torch",)"
                    R"("decision":"selected=none","environment":{},"answers":{},"messages":[]})"}};
    const auto decision = client.select("torch", Value{Value::Object{}});
    ASSERT_TRUE(decision) << decision.error().text;
    EXPECT_EQ(decision->backend, std::nullopt);
    ASSERT_EQ(decision->candidates.size(), 1U);
    EXPECT_EQ(decision->candidates[0].backend, "cuda");
}

TEST(Client, PassesOnTheAnswersBeforeTheLast) {
    FakeTransport client{MethodAnswer{.document = R"({"generation":2,"probes":[]})"}};
    std::vector<std::string> documents;
    const auto hear = [&documents](const MethodAnswer& answer) {
        documents.push_back(answer.document);
    };
    EXPECT_TRUE(client.ask("Probe", Value{Value::Object{}}, hear));
    EXPECT_EQ(documents, (std::vector<std::string>{R"({"progress":0.5})", R"({"progress":1})"}));
}

TEST(Client, KeepsTheMemoryThatCannotBeReadAgain) {
    Gpu gpu{.id = "a"};
    gpu.memory.free = gib(1);
    FakeTransport refusing{refusal("NoSuchGpu", "no GPU 'a'")};
    EXPECT_TRUE(refusing.refresh_memory(gpu));
    FakeTransport lost{MethodAnswer{}};
    lost.is_lost = true;
    EXPECT_TRUE(lost.refresh_memory(gpu));
    EXPECT_EQ(gpu.memory.free, gib(1));
    FakeTransport reading{MethodAnswer{.document = R"({"free":1073741825,"source":"nvml"})"}};
    EXPECT_TRUE(reading.refresh_memory(gpu));
    EXPECT_EQ(gpu.memory.free, (Bytes{1073741825}));
}

}  // namespace client_test
}  // namespace gpuprobe
