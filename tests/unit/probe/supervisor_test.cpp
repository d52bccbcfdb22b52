// SPDX-License-Identifier: Apache-2.0
#include "probe/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/value.h"
#include "fakes/worker/scripted_worker.h"
#include "probe/worker_answer.h"

namespace gpuprobe {
namespace supervisor_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr Duration kShort = seconds{2};  // a worker needs half a second to start
constexpr int kRounds = 4;
#else
constexpr int kRounds = 20;
constexpr Duration kShort = milliseconds{200};
#endif
constexpr Duration kLong = seconds{20};

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator folder{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(folder), end(folder)));
}

bool has_children() {
    return ::waitpid(-1, nullptr, WNOHANG) != -1 || errno != ECHILD;
}

/// A supervisor whose workers are the scripts of tests/fakes/worker.
class Stage {
public:
    explicit Stage(Duration limit = kLong, std::size_t concurrent = 8)
        : limits_{.query = limit, .concurrent = concurrent} {}

    std::vector<ProbeResult> run(const std::vector<std::string>& scripts) {
        for (const auto& script : scripts)
            start(ProbeTarget{.api = script});
        wait();
        return std::exchange(results_, {});
    }
    ProbeResult run(const std::string& script) { return run(std::vector{script}).at(0); }

    void start(const ProbeTarget& target) {
        ++awaited_;
        supervisor_.start(
            target, [this](ProbeResult result) { results_.push_back(std::move(result)); },
            Patience::Usual, answered_);
    }
    /// Notifies the caller of answers, so workers that have answered may continue to run.
    void hear_answers() {
        answered_ = [](const ProbeResult&, bool) {};
    }
    void wait() {
        const auto all_ended = [this] { return results_.size() == awaited_; };
        ASSERT_TRUE(loop_->run_until(all_ended));
        awaited_ = 0;
        EXPECT_TRUE(supervisor_.idle());
    }
    Supervisor& supervisor() { return supervisor_; }
    SystemLoop& loop() { return *loop_; }
    std::vector<ProbeResult>& results() { return results_; }

private:
    std::unique_ptr<SystemLoop> loop_ = SystemLoop::create().value();
    SystemClock clock_ = {};
    SpawnLauncher launcher_{"/proc/self/exe", ""};
    ProbeLimits limits_ = {};
    Supervisor supervisor_{*loop_, launcher_, clock_, limits_};
    std::vector<ProbeResult> results_ = {};
    Supervisor::Answered answered_ = {};
    std::size_t awaited_ = 0;
};

TEST(Supervisor, DeliversAWorkersAnswer) {
    const auto before = SystemClock{}.wall();
    const auto result = Stage{}.run("good");
    EXPECT_EQ(result.outcome, Outcome::Answered);
    EXPECT_EQ(result.note, "well");
    EXPECT_EQ(result.phase, std::nullopt);
    EXPECT_EQ(result.devices.size(), 2U);
    EXPECT_EQ(result.devices[1].name, "second");
    EXPECT_EQ(json_line(result.runtime), R"({"loader":"libfake.so.1"})");
    EXPECT_EQ(result.exit_code, 0);
    EXPECT_EQ(result.signal, std::nullopt);
    EXPECT_GT(result.duration, Duration{});
    EXPECT_GE(result.at, before);
}

TEST(Supervisor, KeepsFactsThatArrivedBeforeACrash) {
    const auto result = Stage{}.run("crash");
    EXPECT_EQ(result.outcome, Outcome::Crashed);
    EXPECT_EQ(result.signal, SIGSEGV);
    EXPECT_EQ(result.exit_code, std::nullopt);
    EXPECT_EQ(result.note, "SIGSEGV in phase enumerate");
    EXPECT_EQ(result.phase, "enumerate");
    EXPECT_EQ(result.devices.size(), 2U);
}

TEST(Supervisor, KillsAWorkerThatMissesItsDeadline) {
    for (const auto* script : {"hang", "stop", "close-everything"}) {
        const auto result = Stage{kShort}.run(script);
        EXPECT_EQ(result.outcome, Outcome::TimedOut) << script;
        EXPECT_EQ(result.note, "timed out after " + text_of_limit(kShort) + " in phase enumerate")
            << script;
        EXPECT_EQ(result.devices.size(), 2U) << script;
        EXPECT_GE(*result.duration, kShort) << script;
        EXPECT_LT(*result.duration, kShort + seconds{2}) << script;
        EXPECT_FALSE(has_children()) << script;
    }
}

TEST(Supervisor, TakesNoExitStatusForAnAnswer) {
    const auto silent = Stage{}.run("silent");
    EXPECT_EQ(silent.outcome, Outcome::Failed);
    EXPECT_EQ(silent.note, "exited 0 without an answer");
    EXPECT_EQ(Stage{}.run("exit-7").note, "exited 7 without an answer");
    const auto unfinished = Stage{}.run("unfinished");
    EXPECT_EQ(unfinished.outcome, Outcome::Failed);
    EXPECT_EQ(unfinished.note, "exited 0 without an answer in phase enumerate");
    EXPECT_EQ(unfinished.devices.size(), 2U);
}

TEST(Supervisor, DropsATornLastFrame) {
    const auto result = Stage{}.run("torn");
    EXPECT_EQ(result.outcome, Outcome::Failed);
    EXPECT_EQ(result.devices.size(), 2U);
}

TEST(Supervisor, DropsAnswersThatDoNotAddUp) {
    for (const auto* script : {"garbage", "answer-then-more", "flipped", "flood-frames"}) {
        const auto result = Stage{}.run(script);
        EXPECT_EQ(result.outcome, Outcome::Failed) << script;
        EXPECT_TRUE(result.note->starts_with("malformed answer")) << script;
        EXPECT_TRUE(result.devices.empty()) << script;
        EXPECT_FALSE(has_children()) << script;
    }
}

TEST(Supervisor, SeesTheDeadlineWhileAWorkerFloodsItsOutput) {
    const auto result = Stage{kShort}.run("flood-output");
    EXPECT_EQ(result.outcome, Outcome::TimedOut);
    EXPECT_LT(*result.duration, kShort + seconds{2});
}

TEST(Supervisor, KeepsTheLastLinesThatAFailingWorkerPrints) {
    const auto result = Stage{}.run("print-and-fail");
    EXPECT_EQ(result.outcome, Outcome::Failed);
    EXPECT_EQ(result.note, "exited 1 without an answer in phase enumerate");
    ASSERT_EQ(result.reasons.size(), 1U);
    EXPECT_EQ(result.reasons[0].code, "worker-output");
    const auto* lines = result.reasons[0].detail.at("lines").as_array();
    ASSERT_NE(lines, nullptr);
    EXPECT_EQ(lines->size(), 32U);
    EXPECT_EQ(lines->back(), Value{"\uFFFD[31mthe driver is broken"});
}

TEST(Supervisor, DoesNotWaitForProcessesThatAWorkerLeavesBehind) {
    for (const auto* script : {"child-holds-pipes", "daemon-holds-pipes"}) {
        const auto result = Stage{}.run(script);
        EXPECT_EQ(result.outcome, Outcome::Answered) << script;
        EXPECT_LT(*result.duration, seconds{2}) << script;
    }
}

/// Waits for the process that a "daemon-and-…" script has left behind. Returns true if the process
/// has ended.
bool has_ended(const ProbeResult& result) {
    return scripted::ends(result.runtime.at(scripted::kSelfKey));
}

TEST(Supervisor, LeavesNoProcessThatMovedToASessionOfItsOwn) {
    EXPECT_TRUE(has_ended(Stage{}.run("daemon-and-crash")));
    const auto late = Stage{kShort}.run("daemon-and-hang");
    EXPECT_EQ(late.outcome, Outcome::TimedOut);
    EXPECT_TRUE(has_ended(late));
    EXPECT_FALSE(has_children());
}

TEST(Supervisor, DoesNotWaitForAWorkerThatStaysAfterItsAnswer) {
    const auto result = Stage{}.run("stay");
    EXPECT_EQ(result.outcome, Outcome::Answered);
    EXPECT_LT(*result.duration, seconds{5});
    EXPECT_FALSE(has_children());
}

TEST(Supervisor, TellsTheAnswerOfAWorkerThatHasNotEnded) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    SpawnLauncher launcher{"/proc/self/exe", ""};
    Supervisor supervisor{*loop, launcher, clock, {}};
    std::vector<ProbeResult> results;
    supervisor.start(
        ProbeTarget{.api = "stay"},
        [&](ProbeResult result) {
            EXPECT_EQ(results.size(), 1U);
            results.push_back(std::move(result));
        },
        Patience::Usual, [&](ProbeResult result, bool) { results.push_back(std::move(result)); });
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 2; }));
    EXPECT_EQ(results[0].outcome, Outcome::Answered);
    EXPECT_EQ(results[0].devices.size(), results[1].devices.size());
    // The waiting time is not counted as a part of the driver's time.
    EXPECT_EQ(results[0].duration, results[1].duration);
}

TEST(Supervisor, LetsThemStayThatHaveAnsweredWhileOthersAreAsked) {
    Stage stage{seconds{2}};
    const auto without_listener = stage.run(std::vector<std::string>{"until-let-go", "hang"});
    EXPECT_EQ(without_listener[0].api, "until-let-go");
    stage.hear_answers();
    const auto alone = stage.run("until-let-go");
    EXPECT_EQ(alone.exit_code, 0);
    EXPECT_LT(*alone.duration, seconds{5});
    const auto both = stage.run(std::vector<std::string>{"until-let-go", "hang"});
    ASSERT_EQ(both.size(), 2U);
    EXPECT_EQ(both[0].api, "hang");
    EXPECT_EQ(both[0].outcome, Outcome::TimedOut);
    EXPECT_EQ(both[1].outcome, Outcome::Answered);
}

TEST(Supervisor, LetsThemGoThatHaveAnsweredWhereOthersWaitForAPlace) {
    const auto results = Stage{kLong, 1}.run({"until-let-go", "until-let-go", "good"});
    for (const auto& result : results)
        EXPECT_EQ(result.exit_code, 0) << result.api;
}

TEST(Supervisor, LetsOneBadWorkerCostItsOwnAnswerOnly) {
    const auto results = Stage{kShort}.run({"crash", "good", "garbage", "hang", "good", "silent"});
    const auto answered = std::ranges::count(results, Outcome::Answered, &ProbeResult::outcome);
    EXPECT_EQ(answered, 2);
}

TEST(Supervisor, NeverCallsBackFromWithinStart) {
    Stage stage;
    stage.start(ProbeTarget{.api = "silent"});
    EXPECT_TRUE(stage.results().empty());
    EXPECT_FALSE(stage.supervisor().idle());
    stage.wait();
}

TEST(Supervisor, MayBeDestroyedByTheCallerItCalls) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    SpawnLauncher launcher{"/proc/self/exe", ""};
    auto supervisor = std::make_unique<Supervisor>(*loop, launcher, clock, ProbeLimits{});
    supervisor->start(ProbeTarget{.api = "hang"}, [](ProbeResult) { FAIL(); });
    supervisor->start(ProbeTarget{.api = "good"}, [&](ProbeResult) { supervisor.reset(); });
    ASSERT_TRUE(loop->run_until([&] { return !supervisor; }));
    EXPECT_FALSE(has_children());
}

TEST(Supervisor, ReportsAWorkerThatCanNotBeStarted) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    SpawnLauncher launcher{"/nonexistent/worker", ""};
    Supervisor supervisor{*loop, launcher, clock, {}};
    std::optional<ProbeResult> result;
    supervisor.start(ProbeTarget{.api = "pci"}, [&](ProbeResult got) { result = std::move(got); });
    EXPECT_EQ(result, std::nullopt);
    ASSERT_TRUE(loop->run_until([&] { return result.has_value(); }));
    EXPECT_EQ(result->outcome, Outcome::Failed);
    EXPECT_EQ(result->reasons.at(0).code, "worker-not-started");
    EXPECT_EQ(result->note, "/nonexistent/worker: cannot be run: No such file or directory");
    EXPECT_FALSE(has_children());
}

TEST(Supervisor, LeaksNothingInTwoHundredRuns) {
    std::size_t first = 0;
    {
        Stage stage{milliseconds{50}};
        (void)stage.run("good");
        first = open_descriptors();
        for (int i = 0; i < kRounds; ++i)
            (void)stage.run({"good", "crash", "silent", "garbage", "torn", "good", "unfinished",
                             "answer-then-more", "child-holds-pipes", "hang"});
        // Killed workers are removed after they have ended. The last workers may still be ending.
        const auto is_clean = [&] { return open_descriptors() <= first; };
        const auto end = stage.loop().now() + seconds{5};
        while (!is_clean() && stage.loop().now() < end) {
            bool is_due = false;
            const auto tick = stage.loop().after(milliseconds{10}, [&is_due] { is_due = true; });
            ASSERT_TRUE(stage.loop().run_until([&is_due] { return is_due; }));
        }
        EXPECT_EQ(open_descriptors(), first);
    }
    EXPECT_FALSE(has_children());
}

/// A worker that is stuck in the kernel: no signal ends it.
class StuckWorker final : public Worker {
public:
    explicit StuckWorker(int& kills) : kills_{kills} {
        int frames[2];
        int ended[2];
        EXPECT_EQ(::pipe2(frames, O_CLOEXEC | O_NONBLOCK), 0);
        EXPECT_EQ(::pipe2(ended, O_CLOEXEC | O_NONBLOCK), 0);
        for (const int fd : {frames[0], frames[1], ended[0], ended[1]})
            fds_.emplace_back(fd);
    }
    [[nodiscard]] int frames() const override { return fds_[0].get(); }
    [[nodiscard]] int output() const override { return -1; }
    [[nodiscard]] int ended() const override { return fds_[2].get(); }
    void kill() override { ++kills_; }
    [[nodiscard]] std::optional<WorkerExit> reap() override { return std::nullopt; }

private:
    int& kills_;
    std::vector<UniqueFd> fds_ = {};
};

class StuckLauncher final : public Launcher {
public:
    Result<std::unique_ptr<Worker>> launch(const ProbeTarget&) override {
        ++launches;
        return std::unique_ptr<Worker>{std::make_unique<StuckWorker>(kills)};
    }
    int launches = 0;
    int kills = 0;
};

TEST(Supervisor, DoesNotWaitForAWorkerThatOutlivesItsKill) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    StuckLauncher launcher;
    Supervisor supervisor{*loop, launcher, clock, {.query = milliseconds{20}}};
    std::optional<ProbeResult> result;
    supervisor.start(ProbeTarget{.api = "x"}, [&](ProbeResult got) { result = std::move(got); });
    ASSERT_TRUE(loop->run_until([&] { return result.has_value(); }));
    EXPECT_EQ(result->outcome, Outcome::TimedOut);
    EXPECT_EQ(result->exit_code, std::nullopt);
    EXPECT_EQ(result->signal, std::nullopt);
    EXPECT_GT(launcher.kills, 0);
    EXPECT_TRUE(supervisor.idle());
}

TEST(Supervisor, RunsWorkersSideBySideUpToItsLimit) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    StuckLauncher launcher;
    Supervisor supervisor{*loop, launcher, clock, {.query = milliseconds{20}, .concurrent = 3}};
    int results = 0;
    for (int i = 0; i < 7; ++i)
        supervisor.start(ProbeTarget{.api = std::to_string(i)}, [&](ProbeResult) { ++results; });
    EXPECT_EQ(launcher.launches, 3);
    ASSERT_TRUE(loop->run_until([&] { return results == 1; }));
    EXPECT_EQ(launcher.launches, 4);
    ASSERT_TRUE(loop->run_until([&] { return results == 7; }));
    EXPECT_EQ(launcher.launches, 7);
}

TEST(Supervisor, StartsNoMoreWorkersWhenTooManyAreStuck) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    StuckLauncher launcher;
    Supervisor supervisor{*loop, launcher, clock, {.query = milliseconds{1}, .concurrent = 64}};
    std::vector<ProbeResult> results;
    const auto collect = [&](ProbeResult got) { results.push_back(std::move(got)); };
    for (int i = 0; i < 65; ++i)
        supervisor.start(ProbeTarget{.api = std::to_string(i)}, collect);
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 65; }));
    supervisor.start(ProbeTarget{.api = "x"}, collect);
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 66; }));
    EXPECT_EQ(results.back().outcome, Outcome::Failed);
    EXPECT_EQ(results.back().reasons.at(0).code, "worker-not-started");
}

TEST(Supervisor, StartsNoTargetBesideItsLastWorkerAndGivesItUpWhenThatIsStuck) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    StuckLauncher launcher;
    Supervisor supervisor{
        *loop, launcher, clock, {.query = milliseconds{1}, .stuck = milliseconds{50}}};
    std::vector<ProbeResult> results;
    const auto collect = [&](ProbeResult got) { results.push_back(std::move(got)); };
    supervisor.start(ProbeTarget{.api = "x"}, collect);
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 1; }));
    supervisor.start(ProbeTarget{.api = "x"}, collect);
    EXPECT_FALSE(supervisor.idle());
    supervisor.start(ProbeTarget{.api = "y"}, collect);
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 2; }));
    EXPECT_EQ(results.back().api, "y") << "the others pass";
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 3; }));
    EXPECT_EQ(launcher.launches, 2);
    EXPECT_EQ(results.back().api, "x");
    EXPECT_EQ(results.back().outcome, Outcome::Failed);
    EXPECT_EQ(results.back().reasons.at(0).code, "worker-stuck");
    supervisor.start(ProbeTarget{.api = "x"}, collect);
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 4; }));
    EXPECT_EQ(launcher.launches, 2) << "nor later";
}

TEST(Supervisor, StartsATargetOnceItsLastWorkerIsGone) {
    Stage stage{kShort};
    stage.start(ProbeTarget{.api = "hang"});
    stage.start(ProbeTarget{.api = "hang"});
    stage.wait();
    for (const auto& result : stage.results())
        EXPECT_EQ(result.outcome, Outcome::TimedOut);
}

TEST(Supervisor, WaitsOnceForAllThatAreStuckWhenItEnds) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    StuckLauncher launcher;
    auto start = std::chrono::steady_clock::now();
    {
        Supervisor supervisor{*loop, launcher, clock, {.concurrent = 64}};
        for (int i = 0; i < 40; ++i)
            supervisor.start(ProbeTarget{.api = std::to_string(i)}, [](ProbeResult) { FAIL(); });
        // After a slow start, the next start is deferred to another iteration of the loop.
        ASSERT_TRUE(loop->run_until([&launcher] { return launcher.launches == 40; }));
        start = std::chrono::steady_clock::now();
    }
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(launcher.launches, 40);
    EXPECT_GE(launcher.kills, 40);
    EXPECT_GE(took, milliseconds{100});
    EXPECT_LT(took, seconds{2}) << "40 times a tenth of a second is 4 s";
}

TEST(Supervisor, TellsOfAWorkerThatTakesLongOnce) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    SpawnLauncher launcher{"/proc/self/exe", ""};
    Supervisor supervisor{*loop, launcher, clock, {.warn = kShort, .query = 2 * kShort}};
    std::vector<std::string> lines;
    supervisor.on_slow([&lines](const ProbeTarget& target, const std::string& phase) {
        lines.push_back(target.api + " in " + phase);
    });
    int results = 0;
    for (const auto* script : {"hang", "good"})
        supervisor.start(ProbeTarget{.api = script}, [&](ProbeResult) { ++results; });
    ASSERT_TRUE(loop->run_until([&] { return results == 2; }));
    EXPECT_EQ(lines, std::vector<std::string>{"hang in enumerate"});
}

TEST(Supervisor, NotesAnAnswerThatTookLong) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    SpawnLauncher launcher{"/proc/self/exe", ""};
    Supervisor supervisor{*loop, launcher, clock, {.warn = Duration::zero()}};
    std::optional<ProbeResult> result;
    supervisor.start(ProbeTarget{.api = "self"}, [&](ProbeResult got) { result = std::move(got); });
    ASSERT_TRUE(loop->run_until([&] { return result.has_value(); }));
    EXPECT_EQ(result->note, "answered after 0 s");
}

TEST(Supervisor, GivesAColdDriverTwiceTheTime) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    StuckLauncher launcher;
    Supervisor supervisor{*loop, launcher, clock, {.query = milliseconds{100}}};
    std::vector<ProbeResult> results;
    const auto collect = [&](ProbeResult got) { results.push_back(std::move(got)); };
    supervisor.start(ProbeTarget{.api = "cold"}, collect, Patience::Double);
    supervisor.start(ProbeTarget{.api = "warm"}, collect);
    ASSERT_TRUE(loop->run_until([&] { return results.size() == 2; }));
    EXPECT_EQ(results[0].api, "warm");
    EXPECT_EQ(results[1].note, "timed out after 200 ms");
    EXPECT_GE(results[1].duration, milliseconds{200});
}

TEST(Supervisor, LetsOthersHaveTheirTurnWhileAWorkerFloodsItsFrames) {
    const auto loop = SystemLoop::create().value();
    const SystemClock clock;
    SpawnLauncher launcher{"/proc/self/exe", ""};
    // Another test checks the deadline. This deadline must be long, because 8 MiB take a long time
    // with sanitizers.
    Supervisor supervisor{*loop, launcher, clock, {.query = std::chrono::minutes{2}}};
    std::optional<ProbeResult> result;
    supervisor.start(ProbeTarget{.api = "flood-phases"},
                     [&](ProbeResult got) { result = std::move(got); });
    int turns = 0;
    ASSERT_TRUE(loop->run_until([&] {
        ++turns;
        return result.has_value();
    }));
    EXPECT_EQ(result->outcome, Outcome::Failed);
    EXPECT_GE(turns, 32) << "a turn takes at most 256 KiB of the 8 MiB";
}

}  // namespace supervisor_test
}  // namespace gpuprobe
