// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <csignal>
#include <functional>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "base/files.h"
#include "base/value.h"
#include "engine/engine.h"
#include "probe/worker_answer.h"
#include "support/fake_worker.h"
#include "support/linker_cache.h"
#include "support/temporary_folder.h"

/// The stages "verify" and "measure" of a machine with two GPUs of one driver and a software
/// implementation.
namespace gpuprobe::engine {
namespace trials_test {

using support::FakeWorker;
using support::TemporaryFolder;

constexpr const char* kFirst = "0000:00:06.0";
constexpr const char* kSecond = "0000:00:07.0";
constexpr const char* kLavapipe = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";

/// The behavior of a worker for one device.
enum class Deed { Right, Wrong, Fails, Crashes, Stays };

std::optional<PciAddress> address(std::string_view text) {
    return parse_text(text, std::type_identity<PciAddress>{});
}

class FakeLauncher final : public Launcher {
public:
    std::map<std::string, Deed> deeds = {};  ///< by stage and device; all other workers succeed
    std::vector<std::string> started = {};   ///< targets of the later stages, in order
    std::function<void(const ProbeTarget&)> at_launch = nullptr;
    std::vector<DeviceFacts> cards = {{.index = 0, .name = "one", .pci = address(kFirst)},
                                      {.index = 1, .name = "two", .pci = address(kSecond)}};
    std::vector<DeviceFacts> intel_cards = {};
    Value load = {};
    long most_measuring = 0;  ///< the largest number of simultaneous measurements

    [[nodiscard]] Result<std::unique_ptr<Worker>> launch(const ProbeTarget& target) override {
        int ends[2] = {-1, -1};
        if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
            return Error{ErrorCode::ProbeFailed, "pipe"};
        UniqueFd near{ends[0]};
        UniqueFd far{ends[1]};
        if (at_launch)
            at_launch(target);
        const auto deed = target.stage == "query" ? Deed::Right : deed_for(target);
        if (deed != Deed::Crashes && deed != Deed::Stays)
            write(far, answer(target, deed));
        const auto exit =
            deed == Deed::Crashes ? WorkerExit{.signal = SIGSEGV} : WorkerExit{.code = 0};
        if (deed != Deed::Stays)
            far.reset();
        return std::unique_ptr<Worker>{std::make_unique<FakeWorker>(std::move(near), std::move(far),
                                                                    exit, presence_of(target))};
    }

private:
    std::shared_ptr<void> presence_of(const ProbeTarget& target) {
        if (target.stage != "measure")
            return nullptr;
        std::shared_ptr<void> presence = measuring_;
        most_measuring = std::max(most_measuring, measuring_.use_count() - 1);
        return presence;
    }
    Deed deed_for(const ProbeTarget& target) {
        const auto name = target.api + " " + target.stage + " " + target.device.value_or("-");
        started.push_back(name);
        const auto found = deeds.find(name);
        return found == deeds.end() ? Deed::Right : found->second;
    }
    static void write(const UniqueFd& far, const std::string& frames) {
        EXPECT_EQ(::write(far.get(), frames.data(), frames.size()),
                  static_cast<ssize_t>(frames.size()));
    }
    std::string listed(const ProbeTarget& target, FrameWriter& writer) const {
        std::string frames;
        if (target.api == "cuda" || target.api == "nvml")
            for (auto facts : cards) {
                if (target.api == "nvml")
                    facts.extra["gpu_utilization"] = load;
                frames += writer.device(facts);
            }
        if (target.api == "level_zero")
            for (const auto& facts : intel_cards)
                frames += writer.device(facts);
        if (target.driver == kLavapipe)
            frames += writer.device({.index = 0, .name = "llvmpipe", .type = DeviceType::Cpu});
        return frames;
    }
    static DeviceFacts found(const ProbeTarget& target, Deed deed) {
        DeviceFacts facts{.name = target.api};
        const bool is_right = deed == Deed::Right;
        facts.extra["check"] =
            Value{Value::Object{{"result", is_right ? "verified" : "miscomputed"},
                                {"words", 64},
                                {"wrong_words", is_right ? 0 : 64}}};
        if (target.stage == "measure" && is_right)
            facts.extra["measured"] = Value{Value::Object{{"memory_read", 1e12}, {"fp32", 10e12}}};
        return facts;
    }
    [[nodiscard]] std::string answer(const ProbeTarget& target, Deed deed) const {
        FrameWriter writer;
        if (deed == Deed::Fails)
            return writer.done(Outcome::Failed, "no memory", {because("out-of-memory")});
        if (target.stage != "query") {
            const auto device = writer.device(found(target, deed));
            return device + writer.done(Outcome::Answered, {}, {});
        }
        const auto devices = listed(target, writer);
        return devices + writer.done(devices.empty() ? Outcome::Absent : Outcome::Answered, {}, {});
    }

    std::shared_ptr<int> measuring_ = std::make_shared<int>();
};

struct SetClock final : Clock {
    [[nodiscard]] WallTime wall() const override { return time; }
    [[nodiscard]] MonotonicTime monotonic() const override {
        return MonotonicTime{time.time_since_epoch()};
    }
    WallTime time = WallTime{std::chrono::hours{24 * 20'000}};
};

class Trials : public ::testing::Test {
protected:
    void SetUp() override {
        root_.write("proc/sys/kernel/random/boot_id", "1\n");
        root_.write(
            kLavapipe + 1,
            R"({"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_lvp.so",)"
            R"( "api_version": "1.3"}})");
        root_.folder("state");
        plug(kFirst);
        plug(kSecond);
        engine_ = started();
    }
    void plug(const std::string& where, const std::string& vendor = "0x10de") const {
        const auto device = "sys/devices/pci0000:00/" + where + "/";
        root_.write(device + "vendor", vendor + "\n");
        root_.write(device + "device", "0x2335\n");
        root_.write(device + "class", "0x030200\n");
        root_.link("sys/bus/pci/devices/" + where, "../../../devices/pci0000:00/" + where);
    }
    void unplug(const std::string& where) const {
        std::filesystem::remove(root_.path() + "/sys/bus/pci/devices/" + where);
    }
    std::unique_ptr<Engine> started(bool verifies = false) {
        EngineOptions options{.cache_file = root_.path() + "/cache",
                              .state_folder = root_.path() + "/state",
                              .limits = {.trial = std::chrono::milliseconds{400}, .concurrent = 64},
                              .settle = Duration::zero(),
                              .trusts_cache_for = std::chrono::minutes{10},
                              .verifies = verifies};
        MachineSource source{.files = std::make_shared<RootedFiles>(root_.path()),
                             .nodes = std::make_shared<RecordedNodes>(),
                             .host = Host{.arch = "x86_64"}};
        auto engine =
            Engine::create(std::move(source), *loop_, launcher_, clock_, std::move(options));
        engine->start();
        EXPECT_TRUE(loop_->run_until([&engine] { return !engine->probing(); }));
        return engine;
    }
    void ask(ProbeRequest request) {
        bool is_done = false;
        shares_.clear();
        const auto asked = engine_->probe(
            request, [this](double share) { shares_.push_back(share); }, [&] { is_done = true; });
        ASSERT_TRUE(asked) << asked.error().text;
        ASSERT_TRUE(loop_->run_until([&is_done] { return is_done; }));
    }
    void verify() { ask({.stage = "verify"}); }
    void measure(bool force = false) { ask({.stage = "measure", .force = force}); }
    [[nodiscard]] BackendView cuda(const std::string& where) const {
        const auto& gpus = engine_->report().gpus;
        const auto found = std::ranges::find(gpus, "pci:" + where, &Gpu::id);
        if (found == gpus.end())
            return {};
        return found->backends.at("cuda");
    }
    [[nodiscard]] std::optional<VerificationResult> result(const std::string& where) const {
        const auto view = cuda(where);
        return view.verification ? std::optional{view.verification->result} : std::nullopt;
    }
    void install(const std::vector<std::string>& sonames) const {
        std::vector<support::LinkerEntry> entries;
        for (const auto& soname : sonames)
            entries.push_back({.flags = 0x0303, .soname = soname});
        root_.write("etc/ld.so.cache", support::linker_cache_of(entries));
    }
    void restart() {
        engine_.reset();
        engine_ = started();
    }
    [[nodiscard]] std::size_t starts() const { return launcher_.started.size(); }
    static std::string name(const char* stage, const char* where) {
        return std::string{"cuda "} + stage + " pci:" + where;
    }

    TemporaryFolder root_ = {};
    std::unique_ptr<SystemLoop> loop_ = SystemLoop::create().value();
    FakeLauncher launcher_ = {};
    SetClock clock_ = {};
    std::unique_ptr<Engine> engine_ = {};
    std::vector<double> shares_ = {};
};

TEST_F(Trials, AreNotRunUnasked) {
    EXPECT_EQ(starts(), 0U);
    EXPECT_EQ(result(kFirst), std::nullopt);
}

TEST_F(Trials, VerifyEachDeviceThatADriverLists) {
    verify();
    auto started = launcher_.started;
    std::ranges::sort(started);
    EXPECT_EQ(started,
              (std::vector<std::string>{"cpu verify index:0", name("verify", kFirst),
                                        name("verify", kSecond), "vulkan verify index:0"}));
    EXPECT_EQ(result(kFirst), VerificationResult::Verified);
    EXPECT_TRUE(cuda(kSecond).verified);
    EXPECT_EQ(engine_->report().software.at(0).verification->result, VerificationResult::Verified);
    EXPECT_EQ(shares_, (std::vector<double>{0.25, 0.5, 0.75, 1}));
}

TEST_F(Trials, UseTheLaterOfTwoChecks) {
    launcher_.deeds = {{name("verify", kFirst), Deed::Wrong}};
    measure(true);
    EXPECT_EQ(result(kFirst), VerificationResult::Verified);
    verify();
    EXPECT_EQ(result(kFirst), VerificationResult::Miscomputed);
    EXPECT_TRUE(cuda(kFirst).score) << "the figures of the measurement are kept";
    clock_.time -= std::chrono::hours{1};  // the order of the trials counts, not the clock
    measure(true);
    EXPECT_EQ(result(kFirst), VerificationResult::Verified);
    launcher_.deeds = {{name("measure", kFirst), Deed::Wrong}};
    measure(true);
    EXPECT_EQ(result(kFirst), VerificationResult::Miscomputed);
    EXPECT_EQ(cuda(kFirst).measurement->outcome, Outcome::Failed);
    EXPECT_EQ(cuda(kFirst).usable, false);
    launcher_.deeds = {{name("measure", kFirst), Deed::Fails}};
    measure(true);
    EXPECT_EQ(result(kFirst), VerificationResult::Miscomputed) << "nothing was computed since";
    restart();
    EXPECT_EQ(result(kFirst), VerificationResult::Miscomputed);
}

TEST_F(Trials, OfANamedGpuDoNotUseOtherGpus) {
    ask({.stage = "verify", .gpus = {std::string{"pci:"} + kSecond}});
    EXPECT_EQ(launcher_.started, std::vector<std::string>{name("verify", kSecond)});
    ask({.apis = {"cpu"}, .stage = "measure"});
    EXPECT_EQ(launcher_.started.back(), "cpu measure index:0");
    EXPECT_TRUE(engine_->report().host.cpu.score);
}

TEST_F(Trials, RefuseMissingDevices) {
    EXPECT_EQ(engine_->probe({.stage = "burn"}, nullptr, nullptr).error().code,
              ErrorCode::InvalidRequest);
    EXPECT_EQ(engine_->probe({.stage = "verify", .gpus = {"pci:1"}}, nullptr, nullptr).error().code,
              ErrorCode::UnknownDevice);
    EXPECT_EQ(engine_->probe({.apis = {"cpu"}}, nullptr, nullptr).error().code,
              ErrorCode::InvalidRequest)
        << "the processor has no driver to ask";
}

TEST_F(Trials, EndEachInItsOwnWay) {
    launcher_.deeds = {{name("verify", kFirst), Deed::Wrong},
                       {name("verify", kSecond), Deed::Fails},
                       {"vulkan verify index:0", Deed::Stays},
                       {"cpu verify index:0", Deed::Crashes}};
    verify();
    EXPECT_EQ(result(kFirst), VerificationResult::Miscomputed);
    EXPECT_EQ(cuda(kFirst).usable, false);
    EXPECT_EQ(result(kSecond), VerificationResult::Failed);
    EXPECT_EQ(cuda(kSecond).verification->reasons.at(0).code, "out-of-memory");
    EXPECT_EQ(cuda(kSecond).usable, true);
    EXPECT_EQ(engine_->report().software.at(0).verification->result, VerificationResult::TimedOut);
    EXPECT_EQ(engine_->report().host.cpu.verification->result, VerificationResult::Crashed);
}

TEST_F(Trials, CanClearAGpuThatMiscomputed) {
    launcher_.deeds[name("verify", kFirst)] = Deed::Wrong;
    verify();
    ASSERT_EQ(cuda(kFirst).usable, false);
    launcher_.deeds.clear();
    verify();
    EXPECT_EQ(cuda(kFirst).usable, true);
    EXPECT_TRUE(cuda(kFirst).verified);
}

TEST_F(Trials, ThatDoHarmTwiceAreNotRunAgain) {
    launcher_.deeds[name("verify", kFirst)] = Deed::Crashes;
    verify();
    EXPECT_EQ(result(kFirst), VerificationResult::Crashed);
    EXPECT_EQ(std::ranges::count(launcher_.started, name("verify", kFirst)), 2);
    ASSERT_EQ(engine_->report().quarantine.size(), 1U);
    const auto& held = engine_->report().quarantine.front();
    EXPECT_EQ(held.stage, "verify");
    EXPECT_EQ(held.device, std::string{"pci:"} + kFirst);
    for (int round = 0; round < 3; ++round)
        verify();
    EXPECT_EQ(std::ranges::count(launcher_.started, name("verify", kFirst)), 2);
    EXPECT_EQ(result(kFirst), VerificationResult::Skipped);
    EXPECT_EQ(cuda(kFirst).verification->reasons.at(0).code, "quarantined");
    EXPECT_TRUE(cuda(kSecond).verified) << "the driver's other device is not held back";
    EXPECT_EQ(cuda(kFirst).usable, true) << "nor are its other questions";
    launcher_.deeds.clear();
    ASSERT_TRUE(engine_->clear_quarantine(Value::Object{{"api", "cuda"}}));
    verify();
    EXPECT_EQ(result(kFirst), VerificationResult::Verified);
}

TEST_F(Trials, AreOnDiskBeforeTheyRun) {
    bool was_saved = false;
    launcher_.at_launch = [&](const ProbeTarget& target) {
        if (target.stage != "verify" || target.api != "cuda")
            return;
        const auto text = RootedFiles{root_.path()}.read("/state/quarantine", kib(64));
        was_saved = text && text->find("pci:0000:00:06.0") != std::string::npos;
    };
    verify();
    EXPECT_TRUE(was_saved);
}

TEST_F(Trials, MeasureOneAtATime) {
    measure();
    EXPECT_EQ(starts(), 4U);
    EXPECT_EQ(launcher_.most_measuring, 1);
    EXPECT_EQ(cuda(kFirst).measurement->memory_read, 1'000'000'000'000U);
    EXPECT_TRUE(cuda(kFirst).score);
    EXPECT_EQ(result(kFirst), VerificationResult::Verified)
        << "a measurement begins with the check";
}

TEST_F(Trials, DoNotMeasureABusyGpuUnlessForced) {
    launcher_.load = 97;
    measure();
    EXPECT_EQ(launcher_.started,
              (std::vector<std::string>{"vulkan measure index:0", "cpu measure index:0"}));
    ASSERT_TRUE(cuda(kFirst).measurement);
    EXPECT_EQ(cuda(kFirst).measurement->outcome, Outcome::Skipped);
    EXPECT_EQ(cuda(kFirst).measurement->reasons.at(0).code, "busy");
    measure(true);
    EXPECT_TRUE(cuda(kFirst).score);
}

TEST_F(Trials, LookAgainBeforeEachGpusTurn) {
    launcher_.at_launch = [this](const ProbeTarget& target) {
        if (target.stage != "measure" || target.device != std::string{"pci:"} + kFirst)
            return;
        launcher_.load = 97;
        clock_.time += std::chrono::seconds{5};
    };
    measure();
    EXPECT_TRUE(cuda(kFirst).score);
    ASSERT_TRUE(cuda(kSecond).measurement);
    EXPECT_EQ(cuda(kSecond).measurement->reasons.at(0).code, "busy");
    EXPECT_EQ(std::ranges::count(launcher_.started, name("measure", kSecond)), 0);
    launcher_.load = 3;
    launcher_.started.clear();
    measure(true);
    EXPECT_EQ(starts(), 4U) << "somebody wants it whatever the load";
}

TEST_F(Trials, EndWithTheCharger) {
    launcher_.at_launch = [this](const ProbeTarget& target) {
        if (target.stage != "measure")
            return;
        root_.write("sys/class/power_supply/BAT0/type", "Battery\n");
        root_.write("sys/class/power_supply/BAT0/status", "Discharging\n");
    };
    measure();
    EXPECT_EQ(launcher_.started, std::vector<std::string>{name("measure", kFirst)});
    EXPECT_EQ(engine_->report().host.cpu.measurement->reasons.at(0).code, "on-battery");
    launcher_.started.clear();
    verify();
    EXPECT_EQ(starts(), 4U) << "to verify takes next to nothing";
}

TEST_F(Trials, OfAnIntelGpuWaitUntilItsLoadIsKnown) {
    const std::string intel = "0000:00:02.0";
    const auto counter = "sys/devices/pci0000:00/" + intel + "/drm/card0/gt/gt0/rc6_residency_ms";
    plug(intel, "0x8086");
    root_.write(counter, "1000\n");
    launcher_.intel_cards = {{.index = 0, .name = "Arc", .pci = address(intel)}};
    ask({});
    const auto measured = [&] {
        const auto& gpus = engine_->report().gpus;
        return std::ranges::find(gpus, "pci:" + intel, &Gpu::id)->backends.at("sycl").measurement;
    };
    const auto ask_while_it_slept = [&](int milliseconds) {
        root_.write(counter, "1000\n");
        const auto later = loop_->after(std::chrono::milliseconds{20}, [&] {
            clock_.time += std::chrono::seconds{1};
            root_.write(counter, std::to_string(1000 + milliseconds) + "\n");
        });
        ask({.apis = {"level_zero"}, .stage = "measure"});
    };
    ask_while_it_slept(400);
    ASSERT_TRUE(measured());
    EXPECT_EQ(measured()->reasons.at(0).code, "busy");
    EXPECT_EQ(json_line(measured()->reasons.at(0).detail),
              R"({"percent":60,"source":"idle-residency"})");
    ask_while_it_slept(980);
    EXPECT_TRUE(measured()->memory_read);
}

TEST_F(Trials, KeepFiguresWhereNoNewOnesCanBeHad) {
    measure();
    const auto before = cuda(kFirst).measurement;
    launcher_.load = 97;
    clock_.time += std::chrono::hours{1};
    measure();
    const auto after = cuda(kFirst).measurement;
    EXPECT_EQ(after->memory_read, before->memory_read);
    EXPECT_EQ(after->at, before->at);
    ASSERT_EQ(after->reasons.size(), 1U);
    EXPECT_EQ(after->reasons[0].code, "busy");
}

TEST_F(Trials, DoNotWakeAGpu) {
    root_.write(std::string{"sys/devices/pci0000:00/"} + kFirst + "/power/runtime_status",
                "suspended\n");
    verify();
    EXPECT_EQ(result(kFirst), VerificationResult::Skipped);
    EXPECT_EQ(cuda(kFirst).verification->reasons.at(0).code, "asleep");
    EXPECT_EQ(std::ranges::count(launcher_.started, name("verify", kFirst)), 0);
    ask({.allow_wake = true, .stage = "verify"});
    EXPECT_EQ(result(kFirst), VerificationResult::Verified);
}

TEST_F(Trials, SurviveTheNextQuestionAndTheNextStart) {
    verify();
    measure();
    ask({});
    EXPECT_TRUE(cuda(kFirst).verified);
    EXPECT_TRUE(cuda(kFirst).score);
    const auto score = cuda(kFirst).score;
    engine_.reset();
    engine_ = started();
    EXPECT_TRUE(cuda(kFirst).verified);
    EXPECT_EQ(cuda(kFirst).score, score);
    EXPECT_EQ(starts(), 8U) << "nothing ran again";
}

TEST_F(Trials, SayNothingOfAGpuThatHasGone) {
    launcher_.at_launch = [this](const ProbeTarget& target) {
        if (target.stage != "verify" || target.device != std::string{"pci:"} + kSecond)
            return;
        unplug(kSecond);
        launcher_.cards.pop_back();
        engine_->hardware_changed();
    };
    launcher_.deeds[name("verify", kSecond)] = Deed::Stays;
    verify();
    EXPECT_EQ(engine_->report().gpus.size(), 1U);
    for (const auto& probe : engine_->report().probes)
        EXPECT_NE(probe.device, std::string{"pci:"} + kSecond);
}

TEST_F(Trials, OfAnotherDriverAreForgotten) {
    verify();
    ASSERT_TRUE(cuda(kFirst).verified);
    root_.write("etc/ld.so.cache", "another");
    ask({});
    EXPECT_EQ(result(kFirst), std::nullopt);
}

TEST_F(Trials, OutliveAStartWhereTheRestOfTheMachineIsAnother) {
    install({"libcuda.so.1"});
    root_.write("lib/libcuda.so.1", "580");
    measure();
    ASSERT_TRUE(cuda(kFirst).score);
    const auto ran = starts();
    unplug(kSecond);
    launcher_.cards.pop_back();
    install({"libcuda.so.1", "libz.so.1"});
    restart();
    EXPECT_TRUE(cuda(kFirst).score);
    EXPECT_TRUE(engine_->report().host.cpu.score);
    plug(kSecond);
    launcher_.cards.push_back({.index = 1, .name = "two", .pci = address(kSecond)});
    restart();
    EXPECT_TRUE(cuda(kFirst).score);
    EXPECT_FALSE(cuda(kSecond).score) << "it was gone";
    EXPECT_EQ(starts(), ran);
}

TEST_F(Trials, OfAnotherDriverAreForgottenAtTheNextStart) {
    install({"libcuda.so.1", "libvulkan_lvp.so"});
    root_.write("lib/libcuda.so.1", "580");
    verify();
    root_.write("lib/libcuda.so.1", "590.2");
    restart();
    EXPECT_EQ(result(kFirst), std::nullopt);
    EXPECT_TRUE(engine_->report().software.at(0).verification) << "of another driver";
    EXPECT_TRUE(engine_->report().host.cpu.verification);
}

TEST_F(Trials, OfOneGpuThatWasReplacedAreForgotten) {
    verify();
    root_.write(std::string{"sys/devices/pci0000:00/"} + kSecond + "/device", "2330\n");
    restart();
    EXPECT_EQ(result(kFirst), VerificationResult::Verified);
    EXPECT_EQ(result(kSecond), std::nullopt);
}

TEST_F(Trials, VerifyInTheBackgroundWhereThatIsWanted) {
    engine_.reset();
    std::filesystem::remove(root_.path() + "/cache");
    engine_ = started(true);
    EXPECT_TRUE(cuda(kFirst).verified);
    EXPECT_TRUE(cuda(kSecond).verified);
    EXPECT_EQ(starts(), 2U) << "GPUs only";
    ask({});
    EXPECT_EQ(starts(), 2U) << "and once";
}

TEST_F(Trials, AreOneGenerationWhenFoundAgain) {
    verify();
    const auto generation = engine_->report().generation;
    clock_.time += std::chrono::minutes{5};
    verify();
    EXPECT_EQ(engine_->report().gpus.at(0).backends.at("cuda").verification->at, clock_.time);
    EXPECT_LE(engine_->report().generation, generation + 2) << "probing and ready again";
}

}  // namespace trials_test
}  // namespace gpuprobe::engine
