// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <gtest/gtest.h>

#include "engine/engine.h"
#include "fakes/worker/machine_worker.h"
#include "support/temporary_folder.h"

/// If the worker of one API crashes, hangs or sends wrong data, all results of the other APIs are
/// kept. The tests use real processes; this program is also the worker (main_test.cpp).
namespace gpuprobe::engine {
namespace resilience_test {

using support::TemporaryFolder;

constexpr const char* kGpu = "pci:0000:00:06.0";
constexpr const char* kManifest = "/usr/share/vulkan/icd.d/nvidia_icd.json";
constexpr const char* kIcd = "/etc/OpenCL/vendors/nvidia.icd";
constexpr std::array<const char*, 4> kApis{"cuda", "nvml", "opencl", "vulkan"};
/// The time limit. It ends the workers of some rows, and is much longer than the other workers
/// need.
constexpr Duration kDeadline = std::chrono::seconds{2};

void install(const TemporaryFolder& root) {
    const std::string device = "sys/devices/pci0000:00/0000:00:06.0/";
    root.write(device + "vendor", "0x10de\n");
    root.write(device + "device", "0x2335\n");
    root.write(device + "class", "0x030200\n");
    root.folder("sys/bus/pci/drivers/nvidia");
    root.link(device + "driver", "../../../bus/pci/drivers/nvidia");
    root.link("sys/bus/pci/devices/0000:00:06.0", "../../../devices/pci0000:00/0000:00:06.0");
    root.write(kManifest + 1,
               R"({"file_format_version": "1.0.0", "ICD": {"library_path": "libGLX_nvidia.so.0",)"
               R"( "api_version": "1.4.312"}})");
    root.write(kIcd + 1, "libnvidia-opencl.so.1\n");
}

struct Answer {
    Report report = {};
    Decision decision = {};
};

/// The engine's report on that machine if one worker follows a script.
Answer answer_with(const char* culprit, const char* script) {
    const TemporaryFolder root;
    install(root);
    const auto loop = SystemLoop::create().value();
    SpawnLauncher launcher{
        "/proc/self/exe",
        "",
        {{machine_worker::kCulprit, culprit}, {machine_worker::kScript, script}}};
    const SystemClock clock;
    MachineSource source{.files = std::make_shared<RootedFiles>(root.path()),
                         .nodes = std::make_shared<RecordedNodes>(),
                         .host = Host{.arch = "x86_64"}};
    const auto engine = Engine::create(std::move(source), *loop, launcher, clock,
                                       {.limits = {.query = kDeadline, .concurrent = 64}});
    engine->start();
    EXPECT_TRUE(loop->run_until([&engine] { return !engine->probing(); }));
    return {.report = engine->report(),
            .decision = engine->select("default", Value{Value::Object{}}, 0).value()};
}

const Answer& healthy() {
    static const Answer answer = answer_with("nobody", "");
    return answer;
}

const Gpu& card_of(const Report& report) {
    const auto found = std::ranges::find(report.gpus, kGpu, &Gpu::id);
    if (found == report.gpus.end()) {
        ADD_FAILURE() << "the card is gone";
        static const Gpu kNone;
        return kNone;
    }
    return *found;
}

void expect_the_others(const Answer& answer, std::string_view culprit) {
    for (const auto* api : kApis) {
        if (api == culprit)
            continue;
        const auto& view = card_of(answer.report).apis.at(api);
        EXPECT_EQ(view.outcome, Outcome::Answered) << api;
        EXPECT_EQ(view.device, card_of(healthy().report).apis.at(api).device) << api;
        EXPECT_EQ(view.joined_by, "pci") << api;
    }
    EXPECT_EQ(card_of(answer.report).memory.physical, machine_worker::kTotal);
}

void expect_it_to_be_missed(const Answer& answer, std::string_view culprit, Outcome outcome) {
    const auto& view = card_of(answer.report).apis.at(std::string{culprit});
    EXPECT_EQ(view.outcome, outcome);
    EXPECT_FALSE(view.reasons.empty());
    const auto probe = std::ranges::find(answer.report.probes, culprit, &ProbeEntry::api);
    ASSERT_NE(probe, answer.report.probes.end());
    EXPECT_EQ(probe->outcome, outcome);
}

TEST(Resilience, StartsFromAMachineWhereEverythingAnswers) {
    expect_the_others(healthy(), "");
    EXPECT_EQ(healthy().decision.backend, "cuda");
    EXPECT_EQ(card_of(healthy().report).health, "ok");
}

struct Script {
    const char* name;
    Outcome outcome;
};
class ResilienceTo : public ::testing::TestWithParam<Script> {};

TEST_P(ResilienceTo, KeepsTheResultsOfTheOtherApis) {
    const auto answer = answer_with("cuda", GetParam().name);
    expect_the_others(answer, "cuda");
    expect_it_to_be_missed(answer, "cuda", GetParam().outcome);
    EXPECT_EQ(answer.decision.backend, "vulkan");
    EXPECT_EQ(answer.decision.gpus, std::vector<std::string>{kGpu});
    EXPECT_NE(card_of(answer.report).backends.at("cuda").usable, true);
}

INSTANTIATE_TEST_SUITE_P(Scripts,
                         ResilienceTo,
                         ::testing::Values(Script{"crash", Outcome::Crashed},
                                           Script{"abort", Outcome::Crashed},
                                           Script{"hang", Outcome::TimedOut},
                                           Script{"stop", Outcome::TimedOut},
                                           Script{"silent", Outcome::Failed},
                                           Script{"exit-7", Outcome::Failed},
                                           Script{"unfinished", Outcome::Failed},
                                           Script{"garbage", Outcome::Failed},
                                           Script{"torn", Outcome::Failed},
                                           Script{"flipped", Outcome::Failed},
                                           Script{"answer-then-more", Outcome::Failed},
                                           Script{"flood-frames", Outcome::Failed}),
                         [](const auto& row) {
                             std::string name = row.param.name;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

class ResilienceOf : public ::testing::TestWithParam<const char*> {};

TEST_P(ResilienceOf, TheRestWhenItCrashes) {
    const auto answer = answer_with(GetParam(), "crash");
    expect_the_others(answer, GetParam());
    expect_it_to_be_missed(answer, GetParam(), Outcome::Crashed);
    EXPECT_TRUE(answer.decision.backend);
    EXPECT_EQ(card_of(answer.report).health, "driver-crashed");
}

TEST_P(ResilienceOf, OtherResultsIfAResultIsImpossible) {
    const auto answer = answer_with(GetParam(), "impossible");
    expect_the_others(answer, GetParam());
    const auto& memory = card_of(answer.report).memory;
    EXPECT_LE(memory.allocatable.value_or(Bytes{}), machine_worker::kTotal);
    EXPECT_LE(memory.free.value_or(Bytes{}), machine_worker::kTotal);
    EXPECT_EQ(card_of(answer.report).name, "NVIDIA H200");
    EXPECT_EQ(card_of(answer.report).identity.canonical_uuid,
              "7e611089-1272-699d-8985-ab84fef4311e");
    EXPECT_TRUE(answer.decision.backend);
}

INSTANTIATE_TEST_SUITE_P(Apis, ResilienceOf, ::testing::ValuesIn(kApis), [](const auto& row) {
    return std::string{row.param};
});

}  // namespace resilience_test
}  // namespace gpuprobe::engine
