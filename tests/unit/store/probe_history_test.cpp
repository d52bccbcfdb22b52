// SPDX-License-Identifier: Apache-2.0
#include "store/probe_history.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temporary_folder.h"

namespace gpuprobe::store {
namespace probe_history_test {

using support::TemporaryFolder;
namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::minutes;

struct TwoClocks final : Clock {
    [[nodiscard]] WallTime wall() const override { return on_the_wall; }
    [[nodiscard]] MonotonicTime monotonic() const override { return running; }
    void pass(Duration time) {
        on_the_wall += time;
        running += time;
    }
    WallTime on_the_wall = WallTime{Duration{1'700'000'000'000'000}};
    MonotonicTime running = hours{5};
};

const ProbeKey kVulkan{.api = "vulkan",
                       .driver = "/usr/share/vulkan/icd.d/radeon_icd.json",
                       .stage = "query",
                       .fingerprint = "mesa 25"};
const ProbeKey kNvml{.api = "nvml", .stage = "query", .fingerprint = "nvidia 580"};
const ProbeKey kCuda{.api = "cuda", .stage = "query", .fingerprint = "nvidia 580"};

class QuarantineTest : public ::testing::Test {
protected:
    [[nodiscard]] std::string file() const { return folder_.path() + "/quarantine"; }
    /// The quarantine as the next process opens it.
    std::unique_ptr<Quarantine> next(const std::string& boot = "boot 1") {
        auto quarantine = std::make_unique<Quarantine>(folder_.path(), clock_);
        const auto opened = quarantine->open(boot);
        EXPECT_TRUE(opened) << opened.error().text;
        return quarantine;
    }
    /// Simulates kill -9: the data that destructors write is discarded.
    void kill(std::unique_ptr<Quarantine> quarantine) const {
        fs::copy_file(file(), file() + ".kept");
        quarantine.reset();
        fs::rename(file() + ".kept", file());
    }
    void die_while_asking(const std::vector<ProbeKey>& keys, const std::string& boot = "boot 1") {
        auto quarantine = next(boot);
        ASSERT_TRUE(quarantine->begin(keys));
        kill(std::move(quarantine));
    }
    [[nodiscard]] std::string content() const {
        std::ostringstream text;
        text << std::ifstream{file()}.rdbuf();
        return text.str();
    }

    TemporaryFolder folder_ = {};
    TwoClocks clock_ = {};
};

TEST_F(QuarantineTest, TakesTheFirstCrashForChance) {
    const auto quarantine = next();
    EXPECT_FALSE(quarantine->strike(kVulkan, Harm::Crashed, "SIGSEGV"));
    EXPECT_EQ(quarantine->find(kVulkan), nullptr);
    EXPECT_TRUE(quarantine->held().empty());
    EXPECT_TRUE(quarantine->strike(kVulkan, Harm::TimedOut, "timed out after 15 s"));
    const auto* held = quarantine->find(kVulkan);
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(held->why, Harm::TimedOut);
    EXPECT_EQ(held->times, 2u);
    EXPECT_EQ(held->since, clock_.wall());
    EXPECT_EQ(held->until, clock_.wall() + minutes{10});
    EXPECT_EQ(held->note, "timed out after 15 s");
    EXPECT_EQ(quarantine->find(kCuda), nullptr);
}

TEST_F(QuarantineTest, LastsLongerEachTimeToTheMicrosecond) {
    const auto quarantine = next();
    EXPECT_FALSE(quarantine->strike(kVulkan, Harm::Crashed, {}));
    for (const Duration length : {Duration{minutes{10}}, Duration{hours{1}}, Duration{hours{6}},
                                  Duration{hours{24}}, Duration{hours{24}}}) {
        ASSERT_TRUE(quarantine->strike(kVulkan, Harm::Crashed, {})) << length.count();
        clock_.pass(length - Duration{1});
        EXPECT_NE(quarantine->find(kVulkan), nullptr) << length.count();
        clock_.pass(Duration{1});
        EXPECT_EQ(quarantine->find(kVulkan), nullptr) << length.count();
    }
}

TEST_F(QuarantineTest, EndsWithAnAnswer) {
    const auto quarantine = next();
    (void)quarantine->strike(kVulkan, Harm::Crashed, {});
    quarantine->pardon(kVulkan);
    EXPECT_FALSE(quarantine->strike(kVulkan, Harm::Crashed, {})) << "it is the first again";
}

TEST_F(QuarantineTest, IsOfOneDriverAsItIs) {
    const auto quarantine = next();
    (void)quarantine->strike(kVulkan, Harm::Crashed, {});
    (void)quarantine->strike(kVulkan, Harm::Crashed, {});
    auto updated = kVulkan;
    updated.fingerprint = "mesa 26";
    EXPECT_EQ(quarantine->find(updated), nullptr);
    EXPECT_NE(quarantine->find(kVulkan), nullptr) << "as after a downgrade";
}

TEST_F(QuarantineTest, OutlivesTheProcess) {
    auto quarantine = next();
    (void)quarantine->strike(kVulkan, Harm::Crashed, "SIGSEGV");
    (void)quarantine->strike(kVulkan, Harm::Crashed, "SIGSEGV");
    ASSERT_TRUE(quarantine->settle());
    const auto before = *quarantine->find(kVulkan);
    kill(std::move(quarantine));
    clock_.pass(minutes{9});
    quarantine = next("boot 2");
    ASSERT_NE(quarantine->find(kVulkan), nullptr);
    EXPECT_EQ(*quarantine->find(kVulkan), before);
    clock_.pass(minutes{1});
    EXPECT_EQ(quarantine->find(kVulkan), nullptr);
}

TEST_F(QuarantineTest, HoldsAtOnceWhatWasAskedAloneWhenTheMachineWentDown) {
    die_while_asking({kVulkan});
    const auto quarantine = next("boot 2");
    const auto* held = quarantine->find(kVulkan);
    ASSERT_NE(held, nullptr);
    EXPECT_EQ(held->why, Harm::MachineWentDown);
    EXPECT_EQ(held->times, 1u);
    EXPECT_EQ(held->until, clock_.wall() + minutes{10});
    EXPECT_EQ(quarantine->held().size(), 1u);
}

TEST_F(QuarantineTest, SuspectsAllThatWereAskedTogetherAndHoldsNone) {
    for (const auto* boot : {"boot 2", "boot 1"}) {
        fs::remove(file());
        die_while_asking({kVulkan, kCuda});
        const auto quarantine = next(boot);
        EXPECT_TRUE(quarantine->held().empty()) << boot;
        EXPECT_TRUE(quarantine->is_suspect(kVulkan) && quarantine->is_suspect(kCuda)) << boot;
    }
}

TEST_F(QuarantineTest, FindsOutWhichItWas) {
    die_while_asking({kVulkan, kCuda, kNvml});
    {
        const auto quarantine = next();
        ASSERT_TRUE(quarantine->begin({kCuda}));
        quarantine->ended(kCuda);
        EXPECT_FALSE(quarantine->is_suspect(kCuda)) << "whatever it said, it took nothing down";
    }
    die_while_asking({kVulkan});
    const auto quarantine = next();
    ASSERT_EQ(quarantine->held().size(), 1u);
    EXPECT_EQ(quarantine->held()[0].api, "vulkan");
    EXPECT_EQ(quarantine->held()[0].why, Harm::DaemonWentDown);
    EXPECT_FALSE(quarantine->is_suspect(kCuda));
    EXPECT_TRUE(quarantine->is_suspect(kNvml)) << "nobody has asked it since";
}

TEST_F(QuarantineTest, KeepsThatWithoutAnotherWrite) {
    die_while_asking({kVulkan});
    kill(next("boot 2"));
    const auto quarantine = next("boot 3");
    ASSERT_NE(quarantine->find(kVulkan), nullptr);
    EXPECT_EQ(quarantine->find(kVulkan)->times, 1u) << "it was not asked again";
}

TEST_F(QuarantineTest, BlamesNobodyTheFirstTimeTheDaemonWentDown) {
    die_while_asking({kVulkan});
    die_while_asking({kVulkan});
    const auto quarantine = next();
    ASSERT_NE(quarantine->find(kVulkan), nullptr);
    EXPECT_EQ(quarantine->find(kVulkan)->why, Harm::DaemonWentDown);
    EXPECT_EQ(quarantine->find(kVulkan)->times, 2u);
}

TEST_F(QuarantineTest, AssumesNoOtherBootWhereItCannotKnow) {
    for (const auto& [before, after] : {std::pair{"", "boot 2"}, {"boot 1", ""}, {"", ""}}) {
        fs::remove(file());
        die_while_asking({kVulkan}, before);
        EXPECT_EQ(next(after)->find(kVulkan), nullptr) << before << " " << after;
    }
}

TEST_F(QuarantineTest, IsOnDiskBeforeADriverIsAsked) {
    const auto quarantine = next();
    ASSERT_TRUE(quarantine->begin({kVulkan}));
    EXPECT_NE(content().find("radeon_icd.json"), std::string::npos);
    quarantine->ended(kVulkan);
    ASSERT_TRUE(quarantine->settle());
    EXPECT_EQ(content().find("radeon_icd.json"), std::string::npos);
}

TEST_F(QuarantineTest, WritesOnceForManyAndNotAtAllForNothing) {
    const auto quarantine = next();
    ASSERT_TRUE(quarantine->begin({kVulkan, kCuda}));
    const auto written = fs::last_write_time(file());
    fs::last_write_time(file(), written - hours{1});
    quarantine->pardon(kVulkan);
    ASSERT_TRUE(quarantine->begin({kVulkan}));
    ASSERT_TRUE(quarantine->settle());
    EXPECT_EQ(fs::last_write_time(file()), written - hours{1});
}

TEST_F(QuarantineTest, TakesOffWhatRunsWhenItsProcessEndsInOrder) {
    auto quarantine = next();
    ASSERT_TRUE(quarantine->begin({kVulkan}));
    quarantine.reset();
    die_while_asking({kVulkan});
    EXPECT_EQ(next()->find(kVulkan), nullptr) << "died once";
}

TEST_F(QuarantineTest, TakesNobodyElsesWorkForRemains) {
    const auto first = next();
    ASSERT_TRUE(first->begin({kVulkan}));
    const auto before = content();
    {
        const auto second = next();
        EXPECT_EQ(second->find(kVulkan), nullptr);
        ASSERT_TRUE(second->begin({kCuda}));
        (void)second->strike(kCuda, Harm::Crashed, {});
        ASSERT_TRUE(second->settle());
    }
    EXPECT_EQ(content(), before);
}

TEST_F(QuarantineTest, HonoursWhatItMayNotWrite) {
    const auto first = next();
    (void)first->strike(kVulkan, Harm::Crashed, {});
    (void)first->strike(kVulkan, Harm::Crashed, {});
    ASSERT_TRUE(first->settle());
    EXPECT_NE(next()->find(kVulkan), nullptr);
}

TEST_F(QuarantineTest, IsClearedByApiByDriverOrWhole) {
    const std::pair<QuarantineFilter, std::uint32_t> rows[] = {
        {{}, 2},
        {{.api = "vulkan"}, 1},
        {{.driver = ""}, 1},
        {{.api = "vulkan", .driver = kVulkan.driver}, 1},
        {{.api = "vulkan", .driver = ""}, 0},
        {{.api = "hip"}, 0}};
    for (const auto& [filter, count] : rows) {
        const auto quarantine = next();
        for (const auto& key : {kVulkan, kCuda, kVulkan, kCuda})
            (void)quarantine->strike(key, Harm::Crashed, {});
        EXPECT_EQ(quarantine->clear(filter).value(), count);
        EXPECT_EQ(quarantine->held().size(), 2 - count);
        EXPECT_EQ(quarantine->clear({}).value(), 2 - count);
    }
}

TEST_F(QuarantineTest, ForgetsTheFirstTimeWhenCleared) {
    const auto quarantine = next();
    (void)quarantine->strike(kVulkan, Harm::Crashed, {});
    EXPECT_EQ(quarantine->clear({}).value(), 0u) << "nothing was held back";
    EXPECT_FALSE(quarantine->strike(kVulkan, Harm::Crashed, {}));
}

TEST_F(QuarantineTest, IsNotFooledByTheClockOnTheWall) {
    auto quarantine = next();
    (void)quarantine->strike(kVulkan, Harm::Crashed, {});
    (void)quarantine->strike(kVulkan, Harm::Crashed, {});
    clock_.on_the_wall += hours{24 * 3650};
    EXPECT_NE(quarantine->find(kVulkan), nullptr) << "set forward";
    clock_.on_the_wall -= hours{2 * 24 * 3650};
    EXPECT_NE(quarantine->find(kVulkan), nullptr) << "set back";
    quarantine.reset();
    quarantine = next();  // despite the wrong year, the quarantine has its usual length
    EXPECT_NE(quarantine->find(kVulkan), nullptr);
    clock_.pass(minutes{10});
    EXPECT_EQ(quarantine->find(kVulkan), nullptr);
}

TEST_F(QuarantineTest, ForgetsOneChanceAfterAMonth) {
    const auto quarantine = next();
    (void)quarantine->strike(kVulkan, Harm::Crashed, {});
    clock_.pass(Quarantine::kRemembers + Duration{1});
    // Old entries are removed when an entry is added.
    (void)quarantine->strike(kCuda, Harm::Crashed, {});
    EXPECT_FALSE(quarantine->strike(kVulkan, Harm::Crashed, {}));
}

TEST_F(QuarantineTest, HasALimit) {
    const auto quarantine = next();
    auto key = kVulkan;
    for (std::size_t i = 0; i <= Quarantine::kMaxEntries; ++i) {
        key.fingerprint = std::to_string(i);
        (void)quarantine->strike(key, Harm::MachineWentDown, {});
        clock_.pass(Duration{1});
    }
    EXPECT_EQ(quarantine->held().size(), Quarantine::kMaxEntries);
    EXPECT_NE(quarantine->find(key), nullptr);
    key.fingerprint = "0";
    EXPECT_EQ(quarantine->find(key), nullptr);
}

TEST_F(QuarantineTest, SetsAsideWhatItCannotRead) {
    {
        const auto quarantine = next();
        (void)quarantine->strike(kVulkan, Harm::MachineWentDown, {});
        ASSERT_TRUE(quarantine->settle());
    }
    const auto whole = content();
    std::vector<std::string> damaged;
    for (std::size_t length = 0; length < whole.size(); ++length)
        damaged.push_back(whole.substr(0, length));
    damaged.push_back(whole);
    damaged.back().replace(whole.find("suspects"), 8, "unknown");
    for (const auto& content : damaged) {
        std::ofstream{file(), std::ios::binary | std::ios::trunc} << content;
        Quarantine quarantine{folder_.path(), clock_};
        const auto opened = quarantine.open("boot 1");
        ASSERT_FALSE(opened) << content;
        EXPECT_EQ(opened.error().code, ErrorCode::Malformed) << content;
        EXPECT_TRUE(quarantine.held().empty());
        EXPECT_TRUE(fs::exists(file() + ".broken"));
    }
}

TEST_F(QuarantineTest, WorksInAFolderThatIsNotThere) {
    Quarantine quarantine{folder_.path() + "/no/such", clock_};
    ASSERT_TRUE(quarantine.open("boot 1"));
    const auto begun = quarantine.begin({kVulkan});
    ASSERT_FALSE(begun) << "whoever asks should know";
    EXPECT_EQ(begun.error().code, ErrorCode::NotFound);
    EXPECT_TRUE(quarantine.strike(kVulkan, Harm::MachineWentDown, {}));
    EXPECT_NE(quarantine.find(kVulkan), nullptr);
}

}  // namespace probe_history_test
}  // namespace gpuprobe::store
