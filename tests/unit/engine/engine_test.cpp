// SPDX-License-Identifier: Apache-2.0
#include "engine/engine.h"

#include <algorithm>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/files.h"
#include "engine/query_rounds.h"
#include "probe/spawn.h"
#include "probe/worker_answer.h"
#include "support/temporary_folder.h"

namespace gpuprobe::engine {
namespace engine_test {

using support::TemporaryFolder;

/// A worker that sends nothing until the test allows it.
class HeldWorker final : public Worker {
public:
    explicit HeldWorker(UniqueFd frames) : frames_{std::move(frames)} {}
    [[nodiscard]] int frames() const override { return frames_.get(); }
    [[nodiscard]] int output() const override { return -1; }
    [[nodiscard]] int ended() const override { return -1; }
    void kill() override {}
    [[nodiscard]] std::optional<WorkerExit> reap() override { return WorkerExit{}; }

private:
    UniqueFd frames_ = {};
};

class HeldLauncher final : public Launcher {
public:
    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override {
        int ends[2] = {-1, -1};
        if (on_launch)
            on_launch();
        if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            return Error{ErrorCode::ProbeFailed, "pipe"};
        held_.emplace_back(ends[1]);
        apis.insert(target.api);
        order.push_back(target.api);
        ++launched;
        return std::unique_ptr<Worker>{std::make_unique<HeldWorker>(UniqueFd{ends[0]})};
    }
    /// Makes every running worker report that there is no device.
    void let_answer(Outcome outcome = Outcome::Absent) {
        let_speak(outcome);
        end_all();
    }
    /// Like let_answer(), for each worker that has not answered yet. The workers continue to run.
    void let_speak(Outcome outcome) {
        for (; spoken_ < held_.size(); ++spoken_) {
            const auto frame = FrameWriter{}.done(outcome, std::nullopt, reasons);
            EXPECT_EQ(::write(held_[spoken_].get(), frame.data(), frame.size()),
                      static_cast<ssize_t>(frame.size()));
        }
    }
    /// Ends all workers, as at the end of the machine.
    void end_all() {
        held_.clear();
        spoken_ = 0;
    }
    std::function<void()> on_launch = {};
    std::size_t launched = 0;
    std::set<std::string> apis = {};  ///< the APIs of all launched workers
    std::vector<std::string> order = {};
    std::vector<Reason> reasons = {};  ///< the reasons in each answer

private:
    std::vector<UniqueFd> held_ = {};
    std::size_t spoken_ = 0;
};

struct SetClock final : Clock {
    [[nodiscard]] WallTime wall() const override { return time - set_back; }
    [[nodiscard]] MonotonicTime monotonic() const override {
        return MonotonicTime{time.time_since_epoch()};
    }
    WallTime time = WallTime{std::chrono::hours{100}};
    Duration set_back = {};  ///< how far the wall clock is set back
};

class EngineTest : public ::testing::Test {
protected:
    void plug_in_a_gpu() const {
        const std::string device = "sys/devices/pci0000:00/0000:00:06.0/";
        root_.write(device + "vendor", "0x10de\n");
        root_.write(device + "device", "0x2335\n");
        root_.write(device + "class", "0x030200\n");
        root_.link("sys/bus/pci/devices/0000:00:06.0", "../../../devices/pci0000:00/0000:00:06.0");
    }
    void gpu_is(const std::string& status) const {
        root_.write("sys/devices/pci0000:00/0000:00:06.0/power/runtime_status", status + "\n");
    }
    std::unique_ptr<Engine> started(bool starts_ahead = false) {
        EngineOptions options{.cache_file = root_.path() + "/cache",
                              .limits = {.concurrent = 64},
                              .settle = Duration::zero(),
                              .trusts_cache_for = std::chrono::minutes{10},
                              .starts_ahead = starts_ahead};
        MachineSource source{.files = std::make_shared<RootedFiles>(root_.path()),
                             .nodes = std::make_shared<RecordedNodes>(),
                             .host = Host{.arch = "x86_64"}};
        auto engine =
            Engine::create(std::move(source), *loop_, launcher_, clock_, std::move(options));
        engine->start();
        return engine;
    }
    void finish(const Engine& engine, Outcome outcome = Outcome::Absent) {
        ASSERT_TRUE(loop_->run_until([&] {
            launcher_.let_answer(outcome);  // this also applies to workers that start later
            return !engine.probing();
        }));
    }

    TemporaryFolder root_ = {};
    std::unique_ptr<SystemLoop> loop_ = SystemLoop::create().value();
    HeldLauncher launcher_ = {};
    SetClock clock_ = {};
};

TEST_F(EngineTest, StartsDriversThatNameTheGpusFirst) {
    plug_in_a_gpu();
    const auto engine = started();
    EXPECT_EQ(launcher_.apis, (std::set<std::string>{"drm", "nvml"}));
    launcher_.let_answer();
    const auto before = engine->report().generation;
    ASSERT_TRUE(loop_->run_until([this] { return launcher_.apis.size() > 2; }));
    EXPECT_GT(engine->report().generation, before);
    EXPECT_EQ(engine->report().probes.size(), 2u);
    finish(*engine);
    EXPECT_GT(engine->report().probes.size(), 2u);
}

TEST_F(EngineTest, AnswersCallsBetweenTheStartsOfTwoDrivers) {
    plug_in_a_gpu();
    const auto engine = started();
    // A client makes calls all the time, as a client of the socket may do.
    auto line = Pipe::create().value();
    ASSERT_EQ(::write(line.write.get(), "?", 1), 1);
    std::size_t answered = 0;
    const auto asking = loop_->watch(line.read.get(), EPOLLIN, EventLoop::Priority::Normal,
                                     [&answered](std::uint32_t) { ++answered; });
    std::vector<std::size_t> before_launch;
    launcher_.on_launch = [&] { before_launch.push_back(answered); };
    launcher_.let_answer();
    ASSERT_TRUE(loop_->run_until([&] { return before_launch.size() > 3; }));
    for (std::size_t i = 0; i + 1 < before_launch.size(); ++i)
        EXPECT_LT(before_launch[i], before_launch[i + 1]) << "launch " << i;
    launcher_.on_launch = {};
    finish(*engine);
}

TEST_F(EngineTest, DoesNotWaitForDriversThatOnlyNameTheGpus) {
    plug_in_a_gpu();
    const auto begun = loop_->now();
    const auto engine = started();
    EXPECT_FALSE(launcher_.apis.contains("cuda"));
    ASSERT_TRUE(loop_->run_until([this] { return launcher_.apis.contains("cuda"); }));
    EXPECT_GE(loop_->now() - begun, Queries::kHeadStart);
    finish(*engine);
}

TEST_F(EngineTest, AsksTheFirstBeforeTheMachineIsKnownAndOnce) {
    plug_in_a_gpu();
    // The complete scan finds no GPU.
    launcher_.on_launch = [this] {
        std::filesystem::remove(root_.path() + "/sys/bus/pci/devices/0000:00:06.0");
    };
    const auto engine = started(true);
    EXPECT_EQ(launcher_.order.front(), "nvml");
    EXPECT_TRUE(engine->report().gpus.empty());
    finish(*engine);
    EXPECT_EQ(std::ranges::count(launcher_.order, "nvml"), 1);
    EXPECT_EQ(engine->report().probes.size(), launcher_.launched);
}

TEST_F(EngineTest, HearsTheFirstBeforeItAsksTheOthers) {
    plug_in_a_gpu();
    const auto engine = started(true);
    EXPECT_EQ(launcher_.order, (std::vector<std::string>{"nvml", "drm"}));
    finish(*engine);
    EXPECT_EQ(std::ranges::count(launcher_.order, "nvml"), 1);
    EXPECT_TRUE(launcher_.apis.contains("cuda"));
}

TEST_F(EngineTest, StartsNoWorkerAheadThatWakesAGpu) {
    plug_in_a_gpu();
    gpu_is("suspended");
    const auto engine = started(true);
    finish(*engine);
    EXPECT_FALSE(launcher_.apis.contains("nvml"));
}

TEST_F(EngineTest, StartsAllDriversWithResultsAtOnce) {
    plug_in_a_gpu();
    const auto engine = started();
    finish(*engine);
    launcher_.apis.clear();
    ASSERT_TRUE(engine->probe({}, nullptr, nullptr));
    EXPECT_TRUE(launcher_.apis.contains("cuda"));
    finish(*engine);
}

TEST_F(EngineTest, ReportsAnAnswerBeforeItsWorkerHasEnded) {
    const auto engine = started();
    EXPECT_TRUE(engine->report().probes.empty());
    ASSERT_TRUE(loop_->run_until([&] {
        launcher_.let_speak(Outcome::Answered);  // this also applies to workers that start later
        return engine->report().probes.size() == launcher_.launched;
    }));
    EXPECT_TRUE(engine->probing());
    EXPECT_EQ(engine->report().probes.front().outcome, Outcome::Answered);
    launcher_.end_all();
    finish(*engine);
    EXPECT_EQ(engine->report().probes.front().outcome, Outcome::Answered);
}

TEST_F(EngineTest, ProbesAgainIfTheHardwareChangedDuringAProbe) {
    const auto engine = started();
    const auto targets = launcher_.launched;
    ASSERT_GT(targets, 0u);
    plug_in_a_gpu();
    engine->hardware_changed();
    ASSERT_TRUE(loop_->run_until([&engine] { return engine->report().gpus.size() == 1; }));
    EXPECT_EQ(launcher_.launched, targets);
    launcher_.let_answer();  // the workers from before the GPU came
    ASSERT_TRUE(loop_->run_until([&] { return launcher_.launched == 2 * targets; }));
    EXPECT_TRUE(engine->probing());
    finish(*engine);
    EXPECT_EQ(launcher_.launched, 2 * targets);
}

TEST_F(EngineTest, AsksAllWhenOneIsAskedForAndTheHardwareHasChanged) {
    const auto engine = started();
    finish(*engine);
    const auto targets = launcher_.launched;
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, nullptr, nullptr));
    EXPECT_EQ(launcher_.launched, targets + 1);
    finish(*engine);
    plug_in_a_gpu();
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, nullptr, nullptr));
    EXPECT_EQ(launcher_.launched, 2 * targets + 1);
    finish(*engine);
}

TEST_F(EngineTest, KeepsTheFactsOfASleepingGpuWithTheirAge) {
    plug_in_a_gpu();
    gpu_is("active");
    const auto engine = started();
    finish(*engine, Outcome::Answered);
    const auto launched = launcher_.launched;
    gpu_is("suspended");
    clock_.time += std::chrono::hours{1};
    bool is_done = false;
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, nullptr, [&is_done] { is_done = true; }));
    ASSERT_TRUE(loop_->run_until([&is_done] { return is_done; }));
    EXPECT_EQ(launcher_.launched, launched) << "nothing may wake it";
    const auto& cuda = engine->report().gpus.at(0).apis.at("cuda");
    EXPECT_EQ(cuda.age, Duration{std::chrono::hours{1}});
    EXPECT_EQ(engine->report().runtimes.at("cuda").outcome, Outcome::Answered);
}

TEST_F(EngineTest, KeepsTheAnswerOfAGpuThatFallsAsleepBeforeItIsOpened) {
    plug_in_a_gpu();
    gpu_is("active");
    const auto engine = started();
    finish(*engine, Outcome::Answered);
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, nullptr, nullptr));
    gpu_is("suspended");
    launcher_.reasons = {because("asleep", {{"device", "pci:0000:00:06.0"}})};
    finish(*engine, Outcome::Failed);
    EXPECT_EQ(engine->report().runtimes.at("cuda").outcome, Outcome::Answered);
    EXPECT_EQ(engine->report().gpus.at(0).health, "ok");
    gpu_is("active");
    launcher_.reasons.clear();
    const auto launched = launcher_.launched;
    clock_.time += Queries::kLooksAgainAfter;
    engine->catch_up();
    EXPECT_EQ(launcher_.launched, launched + 1) << "it was deferred";
    finish(*engine);
}

TEST_F(EngineTest, WakesAGpuWhenAllowedTo) {
    plug_in_a_gpu();
    gpu_is("suspended");
    const auto engine = started();
    finish(*engine);
    const auto launched = launcher_.launched;
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}, .allow_wake = true}, nullptr, nullptr));
    EXPECT_EQ(launcher_.launched, launched + 1);
    finish(*engine);
}

TEST_F(EngineTest, ProbesASleepingGpuAfterItWakes) {
    plug_in_a_gpu();
    gpu_is("suspended");
    const auto engine = started();
    finish(*engine);
    const auto launched = launcher_.launched;
    const auto& gpu = engine->report().gpus.at(0);
    EXPECT_EQ(gpu.apis.at("cuda").reasons.at(0).code, "asleep");
    EXPECT_EQ(gpu.apis.at("nvml").reasons.at(0).code, "asleep");
    const auto& probes = engine->report().probes;
    const auto slept = static_cast<std::size_t>(
        std::ranges::count(probes, Outcome::Skipped, &ProbeEntry::outcome));
    engine->catch_up();
    EXPECT_EQ(launcher_.launched, launched) << "it still sleeps";
    gpu_is("active");
    engine->catch_up();
    EXPECT_EQ(launcher_.launched, launched) << "looked a moment ago";
    clock_.time += Queries::kLooksAgainAfter;
    engine->catch_up();
    EXPECT_EQ(launcher_.launched, launched + slept);
    EXPECT_TRUE(engine->probing());
    finish(*engine);
    clock_.time += Queries::kLooksAgainAfter;
    engine->catch_up();
    EXPECT_EQ(launcher_.launched, launched + slept) << "they have been asked";
}

TEST_F(EngineTest, DefersAnOutdatedProbeOfAGpuThatFellAsleep) {
    plug_in_a_gpu();
    const auto engine = started();
    finish(*engine);
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, nullptr, nullptr));
    engine->sleeps(true);
    root_.write("sys/devices/pci0000:00/0000:00:06.0/subsystem_vendor", "0x1458\n");
    engine->sleeps(false);  // scans, and does not query drivers whose workers are running
    gpu_is("suspended");
    ASSERT_TRUE(engine->probe({.apis = {"pci"}}, nullptr, nullptr));
    finish(*engine);
    gpu_is("active");
    clock_.time += Queries::kLooksAgainAfter;
    const auto before = launcher_.launched;
    engine->catch_up();
    EXPECT_GT(launcher_.launched, before);
    finish(*engine);
}

TEST_F(EngineTest, LooksAtThePowerRightBeforeItAsks) {
    plug_in_a_gpu();
    gpu_is("active");
    const auto engine = started();
    finish(*engine);
    const auto launched = launcher_.launched;
    for (const auto* status : {"suspended", "suspending"}) {
        gpu_is(status);
        ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, nullptr, nullptr));
        EXPECT_EQ(launcher_.launched, launched) << status;
    }
}

TEST_F(EngineTest, AsksAgainForTheMomentWhereThatHasPassed) {
    plug_in_a_gpu();
    gpu_is("active");
    const auto engine = started();
    finish(*engine, Outcome::Answered);
    const auto renewals = [&] {
        const auto before = launcher_.launched;
        launcher_.apis.clear();
        int done = 0;
        engine->renew([&done] { ++done; });
        EXPECT_EQ(done, launcher_.launched > before ? 0 : 1) << "an answer is awaited";
        finish(*engine, Outcome::Answered);
        EXPECT_EQ(done, 1);
        return launcher_.launched - before;
    };
    EXPECT_EQ(renewals(), 0U) << "it was asked a moment ago";
    clock_.time += Engine::kIsOfNow;
    const auto generation = engine->report().generation;
    EXPECT_EQ(renewals(), 2U);
    EXPECT_EQ(launcher_.apis, (std::set<std::string>{"drm", "nvml"})) << "others tell what lasts";
    EXPECT_EQ(engine->report().generation, generation);
    EXPECT_EQ(engine->report().gpus.at(0).apis.at("nvml").age, Duration::zero());
    EXPECT_EQ(renewals(), 0U);
    clock_.set_back = std::chrono::hours{24};
    clock_.time += Engine::kIsOfNow;
    EXPECT_EQ(renewals(), 2U) << "nobody knows how old a result from the future is";
    gpu_is("suspended");
    clock_.time += Engine::kIsOfNow;
    (void)renewals();
    EXPECT_EQ(launcher_.apis, std::set<std::string>{"drm"}) << "nothing may wake it";
}

TEST_F(EngineTest, WaitsForTheMomentNoLongerThanForAMoment) {
    plug_in_a_gpu();
    gpu_is("active");
    const auto engine = started();
    finish(*engine);
    clock_.time += Engine::kIsOfNow;
    int first = 0;
    int second = 0;
    engine->renew([&first] { ++first; });
    engine->renew([&second] { ++second; });
    EXPECT_EQ(first + second, 0) << "both wait for the one worker";
    const auto begun = loop_->now();
    ASSERT_TRUE(loop_->run_until([&] { return first + second == 2; }));
    EXPECT_GE(loop_->now() - begun, Engine::kMostForNow - std::chrono::milliseconds{100});
    finish(*engine);
    EXPECT_EQ(first + second, 2) << "each once";
}

TEST_F(EngineTest, ReadsReasonsForReducedClocksIfCurrentFactsAreNeeded) {
    plug_in_a_gpu();
    gpu_is("active");
    const std::string device = "sys/devices/pci0000:00/0000:00:06.0/";
    root_.write(device + "vendor", "0x8086\n");
    root_.link(device + "driver", "../../../bus/pci/drivers/xe");
    root_.write(device + "tile0/gt0/freq0/throttle/status", "1\n");
    root_.write(device + "tile0/gt0/freq0/throttle/reason_thermal", "1\n");
    const auto engine = started();
    finish(*engine);
    const auto& power = engine->report().gpus.at(0).power;
    EXPECT_EQ(power.slowdowns, std::nullopt) << "nobody has asked";
    const auto generation = engine->report().generation;
    engine->renew([] {});
    EXPECT_EQ(engine->report().gpus.at(0).power.slowdowns, std::vector<std::string>{"thermal"});
    EXPECT_EQ(engine->report().gpus.at(0).power.slowdowns_at, clock_.time);
    EXPECT_EQ(engine->report().generation, generation) << "it is of the moment";
    gpu_is("suspended");
    clock_.time += Engine::kIsOfNow;
    engine->renew([] {});
    EXPECT_EQ(engine->report().gpus.at(0).power.slowdowns, std::nullopt);
    finish(*engine);
}

TEST_F(EngineTest, AsksNothingWhileTheMachineSleeps) {
    plug_in_a_gpu();
    const auto engine = started();
    finish(*engine);
    const auto launched = launcher_.launched;
    engine->sleeps(true);
    LiveMemory memory;
    ASSERT_TRUE(engine->read_memory("pci:0000:00:06.0", false,
                                    [&memory](LiveMemory known) { memory = std::move(known); }));
    ASSERT_EQ(memory.reasons.size(), 1U);
    EXPECT_EQ(memory.reasons[0].code, "skipped");
    bool is_done = false;
    ASSERT_TRUE(engine->probe({}, {}, [&is_done] { is_done = true; }));
    ASSERT_TRUE(loop_->run_until([&is_done] { return is_done; }));
    engine->catch_up();
    EXPECT_EQ(launcher_.launched, launched);
    engine->sleeps(false);
    EXPECT_EQ(launcher_.launched, 2 * launched);
    finish(*engine);
    EXPECT_EQ(engine->report().state, ReportState::Ready);
}

TEST_F(EngineTest, ProbesNoDriverWhileTheMachineSleeps) {
    const auto engine = started();
    finish(*engine);
    const auto launched = launcher_.launched;
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, {}, {}));
    engine->sleeps(true);
    launcher_.let_answer(Outcome::Answered);  // a different answer than before
    ASSERT_TRUE(loop_->run_until([&engine] { return !engine->probing(); }));
    EXPECT_EQ(launcher_.launched, launched + 1);
    engine->sleeps(false);
    EXPECT_EQ(launcher_.launched, launched + 2);
    finish(*engine);
}

TEST_F(EngineTest, UsesTheCacheOfAMachineWhoseNodesAppearLate) {
    plug_in_a_gpu();
    const auto before = started();
    finish(*before, Outcome::Answered);
    std::filesystem::remove(root_.path() + "/sys/bus/pci/devices/0000:00:06.0");
    const auto engine = started();
    EXPECT_TRUE(engine->report().gpus.empty());
    EXPECT_NE(engine->report().source, ReportSource::Cache);
    plug_in_a_gpu();
    engine->hardware_changed();
    ASSERT_TRUE(loop_->run_until([&engine] { return engine->report().gpus.size() == 1; }));
    EXPECT_EQ(engine->report().source, ReportSource::Cache);
    EXPECT_EQ(engine->report().runtimes.at("cuda").outcome, Outcome::Answered);
    launcher_.let_answer(Outcome::Answered);  // the workers from before the GPU came
    ASSERT_TRUE(loop_->run_until([&engine, this] {
        launcher_.let_answer(Outcome::Answered);
        return !engine->probing();
    }));
    EXPECT_EQ(engine->report().source, ReportSource::Live);
}

TEST_F(EngineTest, KeepsTheResultOfADriverWhoseWorkerIsKilledFromOutside) {
    plug_in_a_gpu();
    const auto before = started();
    finish(*before, Outcome::Answered);
    ASSERT_TRUE(before->probe({.apis = {"cuda"}}, nullptr, nullptr));
    launcher_.end_all();
    ASSERT_TRUE(loop_->run_until([&before] { return !before->probing(); }));
    const auto& report = before->report();
    EXPECT_EQ(report.runtimes.at("cuda").outcome, Outcome::Failed);
    EXPECT_EQ(report.gpus.at(0).apis.at("cuda").reasons.at(0).code, "skipped");
    EXPECT_EQ(report.gpus.at(0).apis.at("cuda").reasons.at(1).code, "worker-lost");
    EXPECT_FALSE(has_reason(report.gpus.at(0).findings, "driver-failed"));
    EXPECT_EQ(started()->report().runtimes.at("cuda").outcome, Outcome::Answered);
}

TEST_F(EngineTest, IsNotReadyWhenSeveralWorkersAreLostAtOnce) {
    plug_in_a_gpu();
    const auto engine = started();
    finish(*engine, Outcome::Answered);
    ASSERT_TRUE(engine->probe({.apis = {"cuda"}}, nullptr, nullptr));
    launcher_.end_all();
    ASSERT_TRUE(loop_->run_until([&engine] { return !engine->probing(); }));
    EXPECT_EQ(engine->report().state, ReportState::Ready) << "one may be";
    ASSERT_TRUE(engine->probe({}, nullptr, nullptr));
    launcher_.end_all();
    ASSERT_TRUE(loop_->run_until([&engine] { return !engine->probing(); }));
    EXPECT_EQ(engine->report().state, ReportState::Degraded);
}

TEST_F(EngineTest, KeepsNoResultOfAnotherMachineIfNoDriverCanBeProbed) {
    plug_in_a_gpu();
    const auto before = started();
    finish(*before, Outcome::Answered);
    std::filesystem::remove(root_.path() + "/sys/bus/pci/devices/0000:00:06.0");
    before->hardware_changed();
    ASSERT_TRUE(loop_->run_until([&before] { return before->probing(); }));
    launcher_.end_all();
    ASSERT_TRUE(loop_->run_until([&before] { return !before->probing(); }));
    EXPECT_NE(started()->report().source, ReportSource::Cache);
}

TEST_F(EngineTest, TrustsAFreshCacheAndNoneOfTheFuture) {
    finish(*started());
    const auto saved = clock_.time;
    for (const auto& [later, is_trusted] : {std::pair{Duration{}, true},
                                            {std::chrono::minutes{9}, true},
                                            {std::chrono::minutes{10}, false},
                                            {-std::chrono::hours{1}, false}}) {
        clock_.time = saved + later;
        EXPECT_EQ(started()->probing(), !is_trusted) << later.count();
    }
}

TEST_F(EngineTest, AppliesAnOverrideAndNotesItInTheReport) {
    plug_in_a_gpu();
    const auto engine = started();
    finish(*engine);
    const auto before = engine->report().generation;
    Value rule;
    rule["only"] = "vulkan";
    ASSERT_TRUE(engine->set_override("default", rule, 0));
    EXPECT_GT(engine->report().generation, before);
    ASSERT_FALSE(engine->report().notes.empty());
    EXPECT_EQ(engine->report().notes.back().code, "override-set");
    EXPECT_EQ(engine->select("default", {}, 1000)->backend, std::nullopt);

    ASSERT_TRUE(engine->clear_override("default").value());
    EXPECT_FALSE(engine->clear_override("default").value());
    EXPECT_EQ(engine->select("default", {}, 1000)->backend, "cpu");
}

TEST_F(EngineTest, DoesNotChooseABackendThatFailedForThisUser) {
    const auto engine = started();
    finish(*engine);
    Value outcome;
    outcome["application"] = "default";
    outcome["backend"] = "cpu";
    outcome["outcome"] = "failed";
    ASSERT_TRUE(engine->report_outcome(outcome, 1000));
    EXPECT_TRUE(engine->has_experience(1000));
    EXPECT_EQ(engine->select("default", {}, 1000)->backend, std::nullopt);
    EXPECT_EQ(engine->select("default", {}, 1001)->backend, "cpu");
    clock_.time += store::Outcomes::kLasts;
    EXPECT_EQ(engine->select("default", {}, 1000)->backend, "cpu");
}

}  // namespace engine_test
}  // namespace gpuprobe::engine
