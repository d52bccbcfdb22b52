// SPDX-License-Identifier: Apache-2.0
#include "report/trials.h"

#include <limits>

#include <gtest/gtest.h>

#include "unit/report/machines.h"

namespace gpuprobe::test {
namespace trials_test {

constexpr const char* kWhere = "0000:00:06.0";

Value check(const char* result, int words, Value wrong, Value first) {
    return Value{Value::Object{{"result", result},
                               {"words", words},
                               {"wrong_words", std::move(wrong)},
                               {"first_wrong", std::move(first)},
                               {"note", nullptr}}};
}

Value figures() {
    return Value{Value::Object{{"memory_read", 4.1e12},
                               {"memory_copy", 3.9e12},
                               {"host_to_device", 55e9},
                               {"device_to_host", 54e9},
                               {"fp32", 62e12},
                               {"fp16", 125e12},
                               {"int8", nullptr},
                               {"launch_usec", 4.25},
                               {"spread", Value{Value::Object{{"fp32", 0.01}, {"odd", 1}}}},
                               {"duration_usec", 800'000},
                               {"note", nullptr}}};
}

/// A probe of one device with the value `found` for the key `key`.
ProbeResult trial(const char* stage, const char* key, Value found) {
    DeviceFacts facts{.index = 0, .pci = address(kWhere)};
    facts.extra[key] = std::move(found);
    return ProbeResult{.api = "cuda",
                       .stage = stage,
                       .device = "pci:0000:00:06.0",
                       .outcome = Outcome::Answered,
                       .devices = {facts},
                       .at = kProbed};
}

ProbeResult verify_with(Value found) {
    return trial("verify", "check", std::move(found));
}
ProbeResult ended(const char* stage, Outcome outcome) {
    auto probe = trial(stage, "none", {});
    probe.outcome = outcome;
    probe.devices.clear();
    probe.note = "as it went";
    probe.reasons = {because("out-of-memory")};
    return probe;
}

Report report_with(std::vector<ProbeResult> trials) {
    auto hardware = pci_device(kWhere, "10de", "2335", "0302");
    hardware.driver = "nvidia";
    trials.push_back(ProbeResult{.api = "cuda",
                                 .outcome = Outcome::Answered,
                                 .devices = {{.index = 0, .name = "H200", .pci = address(kWhere)}},
                                 .at = kProbed});
    return assemble(Machine{.host = linux_host(), .devices = {hardware}}, trials, {.now = kNow});
}

BackendView cuda_with(std::vector<ProbeResult> trials) {
    const auto report = report_with(std::move(trials));
    return report.gpus.at(0).backends.at("cuda");
}

TEST(Verification, IsNullUntilSomebodyAsks) {
    const auto view = cuda_with({});
    EXPECT_EQ(view.verification, std::nullopt);
    EXPECT_FALSE(view.verified);
    EXPECT_EQ(view.usable, true);
}

TEST(Verification, OfARightResultVerifies) {
    const auto view = cuda_with({verify_with(check("verified", 4096, 0, nullptr))});
    ASSERT_TRUE(view.verification);
    EXPECT_TRUE(view.verified);
    EXPECT_EQ(view.verification->result, VerificationResult::Verified);
    EXPECT_EQ(view.verification->words, 4096U);
    EXPECT_EQ(view.verification->at, kProbed);
    EXPECT_TRUE(view.reasons.empty());
}

TEST(Verification, OfAWrongResultRulesTheBackendOut) {
    const auto view = cuda_with({verify_with(check("miscomputed", 4096, 17, 3))});
    EXPECT_FALSE(view.verified);
    EXPECT_EQ(view.usable, false);
    ASSERT_EQ(view.reasons.size(), 1U);
    EXPECT_EQ(view.reasons[0].code, "miscomputed");
    EXPECT_EQ(view.reasons[0].detail.at("wrong_words"), Value{17});
    EXPECT_EQ(view.reasons[0].detail.at("first_wrong"), Value{3});
}

struct Ending {
    const char* name;
    Outcome outcome;
    VerificationResult want;
};
class VerificationEnding : public testing::TestWithParam<Ending> {};

TEST_P(VerificationEnding, IsToldApartAndLeavesTheBackendUsable) {
    const auto view = cuda_with({ended("verify", GetParam().outcome)});
    ASSERT_TRUE(view.verification);
    EXPECT_EQ(view.verification->result, GetParam().want);
    EXPECT_EQ(view.verification->note, "as it went");
    EXPECT_EQ(view.verification->reasons.at(0).code, "out-of-memory");
    EXPECT_EQ(view.usable, true);
    EXPECT_FALSE(view.verified);
    if (GetParam().want == VerificationResult::Skipped) {
        EXPECT_TRUE(view.reasons.empty());
    } else {
        ASSERT_EQ(view.reasons.size(), 1U);
        EXPECT_EQ(view.reasons[0].code, "not-computing");
        EXPECT_EQ(view.reasons[0].detail.at("result"), to_value(GetParam().want));
    }
}

INSTANTIATE_TEST_SUITE_P(
    Table,
    VerificationEnding,
    testing::Values(Ending{"Failed", Outcome::Failed, VerificationResult::Failed},
                    Ending{"Absent", Outcome::Absent, VerificationResult::Failed},
                    Ending{"TimedOut", Outcome::TimedOut, VerificationResult::TimedOut},
                    Ending{"Crashed", Outcome::Crashed, VerificationResult::Crashed},
                    Ending{"Skipped", Outcome::Skipped, VerificationResult::Skipped}),
    [](const auto& row) { return row.param.name; });

TEST(Verification, BelievesNoCheckThatContradictsItself) {
    for (auto found :
         {check("verified", 4096, 1, 0), check("verified", 0, 0, nullptr), check("", 1, 0, nullptr),
          Value{}, Value{Value::Object{{"result", "verified"}}}}) {
        const auto view = cuda_with({verify_with(found)});
        EXPECT_FALSE(view.verified);
        EXPECT_EQ(view.verification->result, VerificationResult::Failed);
    }
}

TEST(Measurement, HasAContextThatIsPlausible) {
    const auto context_of = [](Value context) {
        auto found = figures();
        found["context"] = std::move(context);
        return cuda_with({trial("measure", "measured", found)}).measurement->context;
    };
    EXPECT_EQ(cuda_with({trial("measure", "measured", figures())}).measurement->context,
              std::nullopt);
    EXPECT_EQ(context_of(523 << 20), mib(523));
    EXPECT_EQ(context_of(Value{gib(8).count}), gib(8));
    EXPECT_EQ(context_of(Value{gib(8).count + 1}), std::nullopt);
    for (auto nonsense : {Value{0}, Value{-1}, Value{"1"}, Value{1.5}, Value{}})
        EXPECT_EQ(context_of(nonsense), std::nullopt);
}

/// A measurement that began with a correct computation, and failed afterwards.
ProbeResult failed_measurement() {
    auto probe = trial("measure", "check", check("verified", 64, 0, nullptr));
    probe.devices.front().extra["measured"] = Value{};
    probe.outcome = Outcome::Failed;
    probe.note = "no memory";
    probe.reasons = {because("out-of-memory")};
    return probe;
}

TEST(TakeCheck, MakesAVerificationOfIt) {
    auto probe = failed_measurement();
    const auto taken = take_check(probe);
    ASSERT_TRUE(taken);
    EXPECT_EQ(*taken, verify_with(check("verified", 64, 0, nullptr)));
    EXPECT_EQ(probe.note, "no memory");
    EXPECT_EQ(probe.devices.front().extra.find("check"), nullptr);
    EXPECT_FALSE(take_check(probe)) << "a check is taken once";
}

TEST(TakeCheck, NeedsTheAnswerOfAMeasurement) {
    auto lost = failed_measurement();
    lost.phase = "end";
    EXPECT_FALSE(take_check(lost));
    auto unheard = failed_measurement();
    unheard.reasons = {because("worker-lost")};
    EXPECT_FALSE(take_check(unheard));
    auto crashed = failed_measurement();
    crashed.outcome = Outcome::Crashed;
    EXPECT_FALSE(take_check(crashed));
    auto verification = verify_with(check("verified", 64, 0, nullptr));
    EXPECT_FALSE(take_check(verification));
}

TEST(Measurement, HasFiguresAndAScore) {
    const auto view = cuda_with({trial("measure", "measured", figures())});
    ASSERT_TRUE(view.measurement);
    EXPECT_EQ(view.measurement->memory_read, 4'100'000'000'000U);
    EXPECT_EQ(view.measurement->int8, std::nullopt);
    EXPECT_DOUBLE_EQ(view.measurement->launch.value_or(0), 4.25);
    EXPECT_EQ(view.measurement->spread, (std::map<std::string, double>{{"fp32", 0.01}}));
    ASSERT_TRUE(view.score);
    EXPECT_NEAR(*view.score, 1 / (4e9 / 4.1e12 + 56e9 / 125e12), 1e-6);
    EXPECT_FALSE(view.verified) << "what is fast may be wrong";
}

TEST(Measurement, TakesNoFigureThatIsNone) {
    auto odd = figures();
    odd["memory_read"] = -1;
    odd["memory_copy"] = std::numeric_limits<double>::infinity();
    odd["host_to_device"] = "fast";
    odd["fp16"] = 0;
    odd["fp32"] = 1e30;
    const auto measured = measurement_from(trial("measure", "measured", odd));
    EXPECT_EQ(measured.outcome, Outcome::Answered);
    EXPECT_EQ(measured.memory_read, std::nullopt);
    EXPECT_EQ(measured.memory_copy, std::nullopt);
    EXPECT_EQ(measured.host_to_device, std::nullopt);
    EXPECT_EQ(measured.fp16, std::nullopt);
    EXPECT_EQ(measured.fp32, std::nullopt);
    EXPECT_EQ(score_of(measured), std::nullopt);
}

TEST(Measurement, WithoutAnyFigureHasFailed) {
    EXPECT_EQ(measurement_from(trial("measure", "measured", Value{Value::Object{}})).outcome,
              Outcome::Failed);
    EXPECT_EQ(measurement_from(trial("measure", "other", {})).outcome, Outcome::Failed);
}

TEST(Measurement, ThatWasSkippedSaysWhy) {
    auto probe = ended("measure", Outcome::Skipped);
    probe.reasons = {because("busy", {{"percent", 97}})};
    const auto view = cuda_with({probe});
    EXPECT_EQ(view.measurement->outcome, Outcome::Skipped);
    EXPECT_EQ(view.measurement->reasons.at(0).code, "busy");
    EXPECT_EQ(view.score, std::nullopt);
    EXPECT_EQ(view.usable, true);
}

TEST(Score, RestsOnReadingAndTheFasterArithmetic) {
    const Measurement slow_halves{.memory_read = 8, .memory_copy = 800, .fp32 = 9, .fp16 = 3};
    const Measurement no_halves{.memory_read = 8, .memory_copy = 1, .fp32 = 9};
    EXPECT_EQ(score_of(slow_halves), score_of(no_halves));
    EXPECT_TRUE(score_of({.memory_copy = 8, .fp32 = 9}));
    EXPECT_FALSE(score_of({.fp32 = 9}));
    EXPECT_FALSE(score_of({.memory_read = 8}));
}

TEST(Trials, AreOfTheDeviceThatTheyName) {
    auto other = verify_with(check("miscomputed", 1, 1, 0));
    other.device = "pci:0000:00:07.0";
    auto other_driver = verify_with(check("miscomputed", 1, 1, 0));
    other_driver.driver = "/etc/another.icd";
    EXPECT_EQ(cuda_with({other, other_driver}).verification, std::nullopt);
}

TEST(Trials, OfSoftwareStayWithIt) {
    const std::vector<ProbeResult> probes{
        ProbeResult{.api = "opencl",
                    .driver = kPoclIcd,
                    .outcome = Outcome::Answered,
                    .devices = {{.index = 1, .name = "a CPU", .type = DeviceType::Cpu}}},
        [] {
            auto probe = verify_with(check("verified", 64, 0, nullptr));
            probe.api = "opencl";
            probe.driver = kPoclIcd;
            probe.device = "index:1";
            return probe;
        }()};
    const auto report = assemble(Machine{.host = linux_host()}, probes, {.now = kNow});
    EXPECT_TRUE(report.gpus.empty());
    ASSERT_EQ(report.software.size(), 1U);
    EXPECT_EQ(report.software[0].verification->result, VerificationResult::Verified);
}

TEST(Trials, OfTheProcessorAreTheHosts) {
    auto probe = trial("measure", "measured", figures());
    probe.api = "cpu";
    probe.device = "index:0";
    const auto report = report_with({probe});
    ASSERT_TRUE(report.host.cpu.measurement);
    EXPECT_TRUE(report.host.cpu.score);
    EXPECT_EQ(report.gpus.at(0).backends.at("cuda").measurement, std::nullopt);
    const auto again = record_from<Report>(to_value(report));
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(*again, report);
}

TEST(DeviceKey, IsTheAddressWhereTheApiHasOne) {
    EXPECT_EQ(device_key({.index = 3, .pci = address(kWhere)}), "pci:0000:00:06.0");
    EXPECT_EQ(device_key({.index = 3}), "index:3");
    EXPECT_EQ(device_key({.index = 3, .pci = PciAddress{}}), "index:3");
    EXPECT_EQ(device_key({}), std::nullopt);
}

}  // namespace trials_test
}  // namespace gpuprobe::test
