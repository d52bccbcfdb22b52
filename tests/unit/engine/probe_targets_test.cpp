// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "base/value.h"
#include "engine/engine.h"
#include "engine/probed_machine.h"
#include "engine/query_rounds.h"
#include "probe/worker_answer.h"
#include "support/fake_worker.h"
#include "support/temporary_folder.h"

/// Drivers that did harm are not probed again, even after a restart.
namespace gpuprobe::engine {
namespace probe_targets_test {

using std::chrono::hours;
using std::chrono::minutes;
using support::FakeWorker;
using support::TemporaryFolder;

/// The behavior of a worker.
enum class Deed { Answers, FindsNothing, Alternates, Crashes, Stays };

class FakeLauncher final : public Launcher {
public:
    std::map<std::string, Deed> deeds = {};  ///< by API; all other workers find no device
    std::map<std::string, int> launches = {};
    std::function<void()> at_launch = nullptr;

    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override {
        ++launches[target.api];
        if (at_launch)
            at_launch();
        int ends[2] = {-1, -1};
        if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            return Error{ErrorCode::ProbeFailed, "pipe"};
        UniqueFd near{ends[0]};
        UniqueFd far{ends[1]};
        const auto found = deeds.find(target.api);
        const auto deed = found == deeds.end() ? Deed::FindsNothing : found->second;
        const bool finds = deed == Deed::Alternates && launches[target.api] % 2 == 0;
        if (deed == Deed::Answers || deed == Deed::FindsNothing || deed == Deed::Alternates)
            answer(far, deed == Deed::Answers || finds);
        const auto exit =
            deed == Deed::Crashes ? WorkerExit{.signal = SIGSEGV} : WorkerExit{.code = 0};
        if (deed != Deed::Stays)
            far.reset();
        return std::unique_ptr<Worker>{
            std::make_unique<FakeWorker>(std::move(near), std::move(far), exit)};
    }

private:
    static void answer(const UniqueFd& far, bool has_device) {
        FrameWriter writer;
        std::string frames;
        if (has_device)
            frames += writer.device(DeviceFacts{.index = 0, .name = "NVIDIA H200"});
        frames += writer.done(has_device ? Outcome::Answered : Outcome::Absent, {}, {});
        EXPECT_EQ(::write(far.get(), frames.data(), frames.size()),
                  static_cast<ssize_t>(frames.size()));
    }
};

struct SetClock final : Clock {
    [[nodiscard]] WallTime wall() const override { return time; }
    [[nodiscard]] MonotonicTime monotonic() const override {
        return MonotonicTime{time.time_since_epoch()};
    }
    WallTime time = WallTime{hours{24 * 20'000}};
};

constexpr const char* kManifest = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";

/// The APIs whose probes the quarantine's file lists as running.
std::vector<std::string> running_apis(const std::string& ledger) {
    const auto text = RootedFiles{}.read(ledger, mib(1)).value_or("");
    const auto document = parse_json(std::string_view{text}.substr(text.find('\n') + 1), mib(1));
    std::vector<std::string> apis;
    if (document && document->at("running").as_array())
        for (const auto& key : *document->at("running").as_array())
            apis.push_back(*key.at("api").as_string());
    return apis;
}

std::size_t running_in(const std::string& ledger) {
    return running_apis(ledger).size();
}

bool is_written(const std::string& ledger, const std::string& api, bool is_alone) {
    const auto running = running_apis(ledger);
    return std::ranges::find(running, api) != running.end() && (running.size() == 1) == is_alone;
}

class EngineQuarantine : public ::testing::Test {
protected:
    void SetUp() override {
        boots("1");
        root_.write("sys/bus/pci/devices/.keep", "");
        install("1.4");
        root_.folder("state");
    }
    void boots(const std::string& id) const {
        root_.write("proc/sys/kernel/random/boot_id", id + "\n");
    }
    void install(const std::string& version) const {
        root_.write(
            kManifest + 1,
            R"({"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_radeon.so",)"
            R"( "api_version": ")" +
                version + "\"}}");
    }
    void has_a_gpu_and_starts_ahead() {
        const std::string device = "sys/devices/pci0000:00/0000:00:06.0/";
        root_.write(device + "vendor", "0x10de\n");
        root_.write(device + "device", "0x2335\n");
        root_.write(device + "class", "0x030200\n");
        root_.link("sys/bus/pci/devices/0000:00:06.0", "../../../devices/pci0000:00/0000:00:06.0");
        starts_ahead_ = true;
    }
    std::unique_ptr<Engine> started() {
        EngineOptions options{.cache_file = root_.path() + "/cache",
                              .state_folder = root_.path() + "/state",
                              .limits = {.query = limit_, .concurrent = 64},
                              .starts_ahead = starts_ahead_};
        MachineSource source{.files = std::make_shared<RootedFiles>(root_.path()),
                             .nodes = std::make_shared<RecordedNodes>(),
                             .host = Host{.arch = "x86_64"}};
        launcher_.launches.clear();
        auto engine =
            Engine::create(std::move(source), *loop_, launcher_, clock_, std::move(options));
        engine->start();
        return engine;
    }
    void turn(const Engine& engine) {
        ASSERT_TRUE(loop_->run_until([&engine] { return !engine.probing(); }));
    }
    void ask(Engine& engine, std::vector<std::string> apis = {}) {
        bool is_done = false;
        ASSERT_TRUE(engine.probe({.apis = std::move(apis)}, nullptr, [&] { is_done = true; }));
        ASSERT_TRUE(loop_->run_until([&is_done] { return is_done; }));
    }
    /// An engine that has probed all drivers.
    std::unique_ptr<Engine> after_a_round() {
        auto engine = started();
        if (!engine->probing())
            ask(*engine);
        turn(*engine);
        return engine;
    }
    void crash_until_held(const std::string& api) {
        launcher_.deeds[api] = Deed::Crashes;
        const auto engine = after_a_round();
        ASSERT_EQ(launcher_.launches[api], 2) << "once more than once";
        ASSERT_EQ(engine->report().quarantine.size(), 1u);
        EXPECT_EQ(engine->report().quarantine.front().api, api);
        EXPECT_EQ(outcome_of(*engine, api), Outcome::Crashed);
    }
    /// Simulates that the machine stops during a probe. The quarantine's file then has the content
    /// that it had when the probe was recorded.
    void goes_down_while_asking(const std::string& api, bool is_alone, const std::string& boot) {
        const auto ledger = root_.path() + "/state/quarantine";
        launcher_.at_launch = [&] {
            if (is_written(ledger, api, is_alone))
                std::filesystem::copy_file(ledger, ledger + ".kept",
                                           std::filesystem::copy_options::overwrite_existing);
        };
        after_a_round().reset();
        launcher_.at_launch = nullptr;
        std::filesystem::rename(ledger + ".kept", ledger);
        boots(boot);
    }
    static Outcome outcome_of(const Engine& engine, const std::string& api) {
        const auto& probes = engine.report().probes;
        const auto found = std::ranges::find(probes, api, &ProbeEntry::api);
        return found == probes.end() ? Outcome::Failed : found->outcome;
    }

    static std::optional<std::string> note_of(const Engine& engine, const std::string& api) {
        const auto& probes = engine.report().probes;
        const auto found = std::ranges::find(probes, api, &ProbeEntry::api);
        return found == probes.end() ? std::nullopt : found->note;
    }

    TemporaryFolder root_ = {};
    std::unique_ptr<SystemLoop> loop_ = SystemLoop::create().value();
    FakeLauncher launcher_ = {};
    SetClock clock_ = {};
    Duration limit_ = minutes{1};
    bool starts_ahead_ = false;
};

TEST_F(EngineQuarantine, AsksOnceMoreAfterACrashAndThenNoMore) {
    crash_until_held("vulkan");
    const auto engine = after_a_round();
    EXPECT_EQ(launcher_.launches["vulkan"], 0);
    EXPECT_EQ(launcher_.launches["cuda"], 1) << "the others are asked";
    EXPECT_EQ(outcome_of(*engine, "vulkan"), Outcome::Skipped);
    EXPECT_EQ(engine->report().state, ReportState::Degraded);
    const auto& held = engine->report().quarantine.at(0);
    EXPECT_EQ(held.driver, kManifest);
    EXPECT_EQ(held.why, Harm::Crashed);
    EXPECT_EQ(held.times, 2u);
    EXPECT_EQ(held.until, clock_.time + minutes{10});
    EXPECT_EQ(held.note, "SIGSEGV");
}

TEST_F(EngineQuarantine, TakesASecondAnswerThatIsGood) {
    launcher_.deeds["cuda"] = Deed::Crashes;
    const auto engine = started();
    while (launcher_.launches["cuda"] == 0)
        ASSERT_TRUE(loop_->run_until([&] { return launcher_.launches["cuda"] > 0; }));
    launcher_.deeds["cuda"] = Deed::Answers;
    turn(*engine);
    EXPECT_EQ(launcher_.launches["cuda"], 2);
    EXPECT_EQ(outcome_of(*engine, "cuda"), Outcome::Answered);
    EXPECT_TRUE(engine->report().quarantine.empty());
    launcher_.deeds["cuda"] = Deed::Crashes;
    ask(*engine, {"cuda"});
    EXPECT_EQ(launcher_.launches["cuda"], 4) << "the first crash was forgiven";
}

TEST_F(EngineQuarantine, AsksOnceMoreWhereAnAnswerDiffers) {
    const auto engine = after_a_round();
    launcher_.launches.clear();
    launcher_.deeds["cuda"] = Deed::Answers;
    ask(*engine, {"cuda"});
    EXPECT_EQ(launcher_.launches["cuda"], 2);
    EXPECT_EQ(outcome_of(*engine, "cuda"), Outcome::Answered);
    EXPECT_EQ(engine->report().state, ReportState::Ready);
    ask(*engine, {"cuda"});
    EXPECT_EQ(launcher_.launches["cuda"], 3) << "it said the same";
}

TEST_F(EngineQuarantine, KeepsItsReportWhileADriverAnswersDifferentlyEachTime) {
    launcher_.deeds["cuda"] = Deed::Alternates;
    const auto engine = after_a_round();
    ask(*engine, {"cuda"});
    EXPECT_EQ(outcome_of(*engine, "cuda"), Outcome::Absent) << "the least that it said";
    EXPECT_EQ(engine->report().state, ReportState::Degraded);
    const auto stable = stable_part(engine->report());
    for (int i = 0; i < 4; ++i) {
        ask(*engine, {"cuda"});
        EXPECT_EQ(stable_part(engine->report()), stable);
    }
}

TEST_F(EngineQuarantine, ComparesWithTheResultsOfThePreviousProcess) {
    launcher_.deeds["cuda"] = Deed::Answers;
    (void)after_a_round();
    launcher_.deeds["cuda"] = Deed::FindsNothing;
    const auto engine = after_a_round();
    EXPECT_EQ(launcher_.launches["cuda"], 2);
    EXPECT_EQ(engine->report().state, ReportState::Ready);
}

TEST_F(EngineQuarantine, EndsWithAnUpdate) {
    crash_until_held("vulkan");
    install("1.4.1");
    const auto engine = after_a_round();
    EXPECT_EQ(launcher_.launches["vulkan"], 2);
}

TEST_F(EngineQuarantine, EndsAfterItsTimeWhenACallerAsks) {
    crash_until_held("vulkan");
    const auto engine = after_a_round();
    clock_.time += minutes{10} - Duration{1};
    engine->catch_up();
    EXPECT_EQ(launcher_.launches["vulkan"], 0);
    clock_.time += Queries::kLooksAgainAfter;
    engine->catch_up();
    turn(*engine);
    EXPECT_EQ(launcher_.launches["vulkan"], 1) << "and no second chance";
    EXPECT_EQ(engine->report().quarantine.at(0).until, clock_.time + hours{1});
}

TEST_F(EngineQuarantine, EndsInTheProcessThatSawTheCrashToo) {
    launcher_.deeds["vulkan"] = Deed::Crashes;
    const auto engine = after_a_round();
    launcher_.deeds["vulkan"] = Deed::Answers;
    clock_.time += minutes{10};
    engine->catch_up();
    turn(*engine);
    EXPECT_EQ(outcome_of(*engine, "vulkan"), Outcome::Answered);
    EXPECT_TRUE(engine->report().quarantine.empty());
}

TEST_F(EngineQuarantine, EndsByCommand) {
    crash_until_held("vulkan");
    const auto engine = after_a_round();
    const auto generation = engine->report().generation;
    EXPECT_EQ(engine->clear_quarantine(Value::Object{{"api", "cuda"}}).value(), 0u);
    EXPECT_EQ(engine->clear_quarantine(Value::Object{{"api", "vulkan"}}).value(), 1u);
    EXPECT_TRUE(engine->report().quarantine.empty());
    EXPECT_GT(engine->report().generation, generation);
    engine->catch_up();
    turn(*engine);
    EXPECT_EQ(launcher_.launches["vulkan"], 2);
}

TEST_F(EngineQuarantine, HoldsOnRequestToo) {
    crash_until_held("vulkan");
    const auto engine = after_a_round();
    ask(*engine, {"vulkan"});
    EXPECT_EQ(launcher_.launches["vulkan"], 0);
}

TEST_F(EngineQuarantine, ProbesSuspectsOneByOneAfterACrashOfTheMachine) {
    const auto ledger = root_.path() + "/state/quarantine";
    launcher_.deeds["cuda"] = Deed::Stays;
    launcher_.at_launch = [&ledger] {
        std::filesystem::copy_file(ledger, ledger + ".kept",
                                   std::filesystem::copy_options::overwrite_existing);
    };
    started().reset();
    launcher_.at_launch = nullptr;
    std::filesystem::rename(ledger + ".kept", ledger);
    boots("2");
    launcher_.deeds["cuda"] = Deed::Answers;
    std::vector<std::size_t> at_a_time;
    launcher_.at_launch = [&] { at_a_time.push_back(running_in(ledger)); };
    const auto engine = after_a_round();
    launcher_.at_launch = nullptr;
    EXPECT_TRUE(engine->report().quarantine.empty()) << "nobody knows which it was";
    EXPECT_EQ(outcome_of(*engine, "cuda"), Outcome::Answered);
    EXPECT_EQ(std::ranges::count(at_a_time, 1U), 8) << "each of those that load a driver";
    EXPECT_EQ(std::ranges::max(at_a_time), 1U);
}

TEST_F(EngineQuarantine, HoldsTheOneWithWhichTheMachineGoesDownAgain) {
    goes_down_while_asking("cuda", false, "2");
    goes_down_while_asking("cuda", true, "3");
    const auto engine = after_a_round();
    ASSERT_EQ(engine->report().quarantine.size(), 1U);
    EXPECT_EQ(engine->report().quarantine[0].api, "cuda");
    EXPECT_EQ(engine->report().quarantine[0].why, Harm::MachineWentDown);
    EXPECT_NE(outcome_of(*engine, "vulkan"), Outcome::Skipped);
}

TEST_F(EngineQuarantine, ProbesASuspectAloneEvenIfItIsTheFirst) {
    has_a_gpu_and_starts_ahead();
    goes_down_while_asking("nvml", false, "2");
    std::filesystem::remove(root_.path() + "/cache");
    std::vector<std::size_t> at_a_time;
    launcher_.at_launch = [&] {
        at_a_time.push_back(running_in(root_.path() + "/state/quarantine"));
    };
    const auto engine = after_a_round();
    launcher_.at_launch = nullptr;
    EXPECT_EQ(outcome_of(*engine, "nvml"), Outcome::Absent);
    EXPECT_EQ(std::ranges::max(at_a_time), 1U);
}

TEST_F(EngineQuarantine, AsksNothingAheadThatIsHeld) {
    has_a_gpu_and_starts_ahead();
    crash_until_held("nvml");
    std::filesystem::remove(root_.path() + "/cache");
    (void)after_a_round();
    EXPECT_EQ(launcher_.launches["nvml"], 0);
}

TEST_F(EngineQuarantine, KeepsTheEarlierResultOfADriver) {
    launcher_.deeds["cuda"] = Deed::Answers;
    after_a_round().reset();
    const auto answered = clock_.time;
    goes_down_while_asking("cuda", false, "2");
    clock_.time += hours{1};
    goes_down_while_asking("cuda", true, "3");
    launcher_.launches.clear();
    const auto engine = after_a_round();
    EXPECT_EQ(launcher_.launches["cuda"], 0);
    EXPECT_EQ(engine->report().runtimes.at("cuda").outcome, Outcome::Answered);
    EXPECT_GE(clock_.time - answered, hours{1});
}

TEST_F(EngineQuarantine, LeavesNoTraceOfAnOrderlyEnd) {
    launcher_.deeds["cuda"] = Deed::Stays;
    for (int i = 0; i < 3; ++i) {
        const auto engine = started();
        EXPECT_EQ(launcher_.launches["cuda"], 1) << i;
        EXPECT_TRUE(engine->report().quarantine.empty()) << i;
    }
}

TEST_F(EngineQuarantine, ReportsThatItsFileCannotBeWritten) {
    std::filesystem::remove_all(root_.path() + "/state");
    const auto engine = after_a_round();
    const auto& notes = engine->report().notes;
    EXPECT_TRUE(std::ranges::any_of(
        notes, [](const Reason& note) { return note.code == "state-not-kept"; }));
    EXPECT_EQ(launcher_.launches["cuda"], 1) << "and asks all the same";
}

TEST_F(EngineQuarantine, SetsAsideALedgerItCannotRead) {
    root_.write("state/quarantine", "gpuprobe-quarantine 2 00000000\n{}\n");
    std::filesystem::permissions(root_.path() + "/state/quarantine", std::filesystem::perms{0600});
    const auto engine = after_a_round();
    const auto& notes = engine->report().notes;
    EXPECT_TRUE(std::ranges::any_of(
        notes, [](const Reason& note) { return note.code == "state-ignored"; }));
    EXPECT_TRUE(std::filesystem::exists(root_.path() + "/state/quarantine.broken"));
}

TEST_F(EngineQuarantine, GivesTheFirstProbeOfABootTwiceTheTime) {
    limit_ = std::chrono::milliseconds{50};
    launcher_.deeds["cuda"] = Deed::Stays;
    const auto engine = after_a_round();
    EXPECT_EQ(note_of(*engine, "cuda"), "timed out after 100 ms");
    EXPECT_EQ(launcher_.launches["cuda"], 2);
    ASSERT_TRUE(engine->clear_quarantine(Value::Object{{"all", true}}));
    ask(*engine, {"cuda"});
    EXPECT_EQ(note_of(*engine, "cuda"), "timed out after 50 ms");
}

TEST_F(EngineQuarantine, KnowsOfABootAcrossProcesses) {
    after_a_round().reset();
    limit_ = std::chrono::milliseconds{50};
    launcher_.deeds["cuda"] = Deed::Stays;
    EXPECT_EQ(note_of(*after_a_round(), "cuda"), "timed out after 50 ms");
    boots("2");
    install("1.5");
    std::filesystem::remove(root_.path() + "/cache");
    launcher_.deeds["nvml"] = Deed::Stays;
    EXPECT_EQ(note_of(*after_a_round(), "nvml"), "timed out after 100 ms");
}

struct FilterRow {
    const char* name;
    Value::Object filter;
    bool is_fine;
};

TEST(QuarantineFilter, IsOneOrAll) {
    const FilterRow rows[] = {{"an API", {{"api", "vulkan"}}, true},
                              {"a driver", {{"driver", "/usr/share/x.json"}}, true},
                              {"both", {{"api", "vulkan"}, {"driver", ""}}, true},
                              {"all", {{"all", true}}, true},
                              {"nothing", {}, false},
                              {"not all", {{"all", false}}, false},
                              {"all and one", {{"all", true}, {"api", "vulkan"}}, false},
                              {"no API", {{"api", "vulcan"}}, false},
                              {"a number", {{"api", 1}}, false},
                              {"an unknown key", {{"stage", "query"}}, false}};
    for (const auto& row : rows) {
        const auto filter = quarantine_filter_from(Value{row.filter});
        EXPECT_EQ(static_cast<bool>(filter), row.is_fine) << row.name;
        if (!filter) {
            EXPECT_EQ(filter.error().code, ErrorCode::InvalidRequest) << row.name;
        }
    }
}

}  // namespace probe_targets_test
}  // namespace gpuprobe::engine
