// SPDX-License-Identifier: Apache-2.0
#include "service/admission.h"

#include <gtest/gtest.h>

#include "support/memory_files.h"

namespace gpuprobe {
namespace admission_test {

using ::gpuprobe::support::MemoryFiles;

class HandClock final : public Clock {
public:
    [[nodiscard]] WallTime wall() const override { return {}; }
    [[nodiscard]] MonotonicTime monotonic() const override { return now; }
    MonotonicTime now = {};
};

class PayersTest : public ::testing::Test {
protected:
    PayersTest() {
        files.write("/etc/passwd",
                    "root:x:0:0:root:/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\n"
                    "bert:x:1001:1001::/home/bert:/bin/sh\nmalformed\nno-number:x:y:\n");
        files.write("/etc/subuid",
                    "anna:100000:65536\n1001:165536:65536\nroot:1000000:1000000000\n"
                    "gone:300000:65536\nmalformed:1\nanna:4294967290:100\n");
        files.write("/run/systemd/users/70000", "NAME=carla\n");
    }
    MemoryFiles files = {};
    HandClock clock = {};
    Payers payers{files, clock};
};

TEST_F(PayersTest, KnowRootAndTheUsersOfThisMachine) {
    EXPECT_EQ(payers.of(0).standing, Standing::Root);
    EXPECT_EQ(payers.of(1000).standing, Standing::User);
    EXPECT_EQ(payers.of(1000).id, 1000U);
    EXPECT_EQ(payers.of(70'000).standing, Standing::User) << "logged in";
    EXPECT_EQ(payers.of(70'001).standing, Standing::Stranger);
    EXPECT_EQ(payers.of(70'001).id, 70'001U);
}

TEST_F(PayersTest, ChargeSubordinateUidsToTheirOwner) {
    for (const uid_t uid : {100'000U, 165'535U, 4'294'967'294U})
        EXPECT_EQ(payers.of(uid).id, 1000U) << uid;
    EXPECT_EQ(payers.of(165'536).id, 1001U) << "the owner's number instead of the name";
    EXPECT_EQ(payers.of(99'999).standing, Standing::Stranger);
    EXPECT_EQ(payers.of(231'072).standing, Standing::Stranger) << "one past the range";
    EXPECT_EQ(payers.of(300'000).standing, Standing::Stranger) << "its owner has no account";
}

TEST_F(PayersTest, ChargeAContainerOfRootAsOneUser) {
    const auto container = payers.of(1'000'000);
    EXPECT_EQ(container.standing, Standing::User) << "and not as root";
    EXPECT_EQ(payers.of(1'065'535), container);
    EXPECT_NE(payers.of(1'065'536).id, container.id);
}

TEST_F(PayersTest, ReadTheAccountsAgain) {
    EXPECT_EQ(payers.of(1002).standing, Standing::Stranger);
    files.write("/etc/passwd", "dora:x:1002:1002::/home/dora:/bin/sh\n");
    EXPECT_EQ(payers.of(1002).standing, Standing::Stranger);
    clock.now += Payers::kReread;
    EXPECT_EQ(payers.of(1002).standing, Standing::User);
}

TEST_F(PayersTest, HaveNoUsersWithoutAccountFiles) {
    const MemoryFiles none;
    Payers nobody{none, clock};
    EXPECT_EQ(nobody.of(1000).standing, Standing::Stranger);
    EXPECT_EQ(nobody.of(0).standing, Standing::Root);
}

TEST_F(PayersTest, RememberWhoCalledFirst) {
    const auto first = payers.of(50'000);
    EXPECT_FALSE(first.has_returned);
    for (uid_t uid = 200'000'000; uid < 200'000'000 + 2 * Payers::kMaxRemembered; ++uid)
        EXPECT_GT(payers.of(uid).rank, first.rank);
    clock.now += Payers::kRecently;
    EXPECT_EQ(payers.of(50'000).rank, first.rank);
    EXPECT_TRUE(payers.of(50'000).has_returned);
    clock.now += Payers::kMemory;
    for (uid_t uid = 300'000'000; uid < 300'000'000 + Payers::kMaxRemembered; ++uid)
        (void)payers.of(uid);
    EXPECT_NE(payers.of(50'000).rank, first.rank) << "an hour later it is a newcomer";
}

constexpr Payer kAnna{.id = 1000, .standing = Standing::User, .rank = 1};
constexpr Payer kBert{.id = 1001, .standing = Standing::User, .rank = 2};
constexpr Payer kRootPayer{.id = 0, .standing = Standing::Root, .rank = 3};

Payer stranger(uid_t id) {
    return {.id = id, .rank = id};
}

std::size_t taken_by(SharedPool& pool, const Payer& payer) {
    while (pool.has_room(payer))
        pool.take(payer);
    return pool.held_by(payer.id);
}

TEST(SharedPool, LeavesEachUserWhatTheOneBeforeGot) {
    SharedPool pool{{.all = 64, .one = 8, .always = 1, .root = 4}};
    std::vector<std::size_t> shares;
    for (uid_t uid = 2000; uid < 2020; ++uid)
        shares.push_back(taken_by(pool, {.id = uid, .standing = Standing::User, .rank = uid}));
    EXPECT_EQ(shares.front(), 8U);
    EXPECT_GE(shares.back(), 1U) << "the twentieth user";
    EXPECT_LE(pool.total(), 64U + 20U);
    EXPECT_EQ(taken_by(pool, kRootPayer), 4U);
}

TEST(SharedPool, KeepsHalfFreeOfStrangers) {
    SharedPool pool{{.all = 64, .one = 8, .always = 1, .root = 4}};
    for (uid_t uid = 100'000; uid < 104'000; ++uid)
        (void)taken_by(pool, stranger(uid));
    EXPECT_EQ(pool.total(), 128U) << "what each is granted has a total, too";
    EXPECT_GE(taken_by(pool, kAnna), 1U);
    SharedPool without_always{{.all = 64, .one = 8, .always = 0, .root = 4}};
    for (uid_t uid = 100'000; uid < 104'000; ++uid)
        (void)taken_by(without_always, stranger(uid));
    EXPECT_LE(without_always.total(), 32U);
    EXPECT_EQ(taken_by(without_always, kAnna), 8U);
}

/// Takes `amount` for the payer like a server. If there is not enough, the payer that the pool
/// names gives back one unit at a time.
bool takes(SharedPool& pool,
           std::map<uid_t, Payer>& payers,
           const Payer& payer,
           std::size_t amount) {
    payers.emplace(payer.id, payer);
    for (;;) {
        const auto offer = pool.offer(payer, amount);
        if (offer.is_accepted)
            return pool.take(payer, amount), true;
        if (!offer.holder)
            return false;
        EXPECT_NE(*offer.holder, payer.id);
        EXPECT_GT(pool.held_by(*offer.holder), 0U);
        pool.give_back(payers.at(*offer.holder));
    }
}

TEST(SharedPool, TakesPlacesBackFromWhoHasTheMost) {
    SharedPool pool{{.all = 100, .one = 50, .always = 0, .root = 10}};
    std::map<uid_t, Payer> payers;
    for (int i = 0; i < 60; ++i) {
        takes(pool, payers, kAnna, 1);
        takes(pool, payers, kBert, 1);
    }
    EXPECT_EQ(pool.held_by(kAnna.id), 50U);
    const Payer carla{.id = 1002, .standing = Standing::User, .rank = 9};
    for (int i = 0; i < 60; ++i)
        takes(pool, payers, carla, 1);
    EXPECT_EQ(pool.total(), 100U);
    EXPECT_EQ(pool.held_by(carla.id), 33U) << "a third, as the others";
    EXPECT_FALSE(takes(pool, payers, carla, 1));
}

TEST(SharedPool, AUserGetsAPlaceFromACrowdOfStrangers) {
    SharedPool pool{{.all = 4096, .one = 2048, .always = 0, .root = 10}};
    std::map<uid_t, Payer> payers;
    ASSERT_TRUE(takes(pool, payers, stranger(9), 1));
    for (uid_t uid = 100'000; uid < 104'200; ++uid)
        takes(pool, payers, stranger(uid), 1);
    EXPECT_EQ(pool.total(), 4096U);
    EXPECT_EQ(pool.held_by(9), 1U);
    for (int i = 0; i < 2048; ++i)
        ASSERT_TRUE(takes(pool, payers, kAnna, 1)) << i;
    EXPECT_EQ(pool.held_by(9), 1U) << "a stranger who came before the crowd keeps its place";
    EXPECT_EQ(pool.total(), 4096U);
    EXPECT_TRUE(takes(pool, payers, stranger(8), 1)) << "who called before the crowd";
    EXPECT_FALSE(takes(pool, payers, stranger(200'000), 1));
    EXPECT_TRUE(takes(pool, payers, kRootPayer, 1));
}

TEST(SharedPool, GrantsALittleToEverybody) {
    SharedPool pool{{.all = 1000, .one = 500, .always = 4, .root = 10}};
    std::map<uid_t, Payer> payers;
    for (uid_t uid = 2000; uid < 2300; ++uid) {
        const Payer payer{.id = uid, .standing = Standing::User, .rank = uid};
        ASSERT_TRUE(takes(pool, payers, payer, 4)) << uid;
    }
    EXPECT_FALSE(takes(pool, payers, kAnna, 600)) << "more than one may have";
}

TEST(SharedPool, GetsAClaimBackWhenItsLastCopyGoes) {
    SharedPool pool{{.all = 2, .one = 1, .always = 0, .root = 1}};
    auto claim = pool.claim(kAnna, 1, "no");
    ASSERT_TRUE(claim);
    auto copy = *claim;
    EXPECT_EQ(pool.claim(kAnna, 1, "too many of them").error().text, "too many of them");
    claim = SharedPool::Claim{};
    EXPECT_FALSE(pool.claim(kAnna, 1, "no"));
    copy.reset();
    EXPECT_TRUE(pool.claim(kAnna, 1, "no"));
    EXPECT_EQ(pool.total(), 0U);
}

void use_up(CallRate& rate, const Payer& payer) {
    for (unsigned i = 0; i < CallRate::kCalls; ++i)
        ASSERT_TRUE(rate.take(payer)) << i;
}

TEST(CallRate, RefusesOneUserTooManyCallsUntilTheWindowEnds) {
    HandClock clock;
    CallRate rate{clock};
    use_up(rate, kAnna);
    EXPECT_EQ(rate.take(kAnna).error().code, ErrorCode::TooManyRequests);
    EXPECT_TRUE(rate.take(kBert));
    clock.now = CallRate::kWindow - Duration{1};
    EXPECT_FALSE(rate.take(kAnna));
    clock.now = CallRate::kWindow;
    EXPECT_TRUE(rate.take(kAnna));
}

TEST(CallRate, DoesNotCountRootsCalls) {
    const HandClock clock;
    CallRate rate{clock};
    use_up(rate, kRootPayer);
    EXPECT_TRUE(rate.take(kRootPayer));
}

TEST(CallRate, StrangersUseUpNobodyElsesCalls) {
    const HandClock clock;
    CallRate rate{clock};
    for (uid_t uid = 100'000; uid < 101'100; ++uid)
        while (rate.take(stranger(uid))) {
        }
    use_up(rate, kAnna);
    EXPECT_TRUE(rate.take(stranger(200'000))) << "its first call";
    for (uid_t uid = 300'000; uid < 310'000; ++uid)
        (void)rate.take(stranger(uid));
    EXPECT_FALSE(rate.take(stranger(400'000))) << "first calls of strangers are bounded, too";
    auto returned = stranger(5);
    returned.has_returned = true;
    EXPECT_TRUE(rate.take(returned)) << "a stranger who called before";
}

TEST(CallRate, TwentyUsersUseUpNobodyElsesCalls) {
    const HandClock clock;
    CallRate rate{clock};
    for (uid_t uid = 2000; uid < 2020; ++uid)
        use_up(rate, {.id = uid, .standing = Standing::User});
    use_up(rate, kAnna);
}

ErrorCode code_of(const Status& status) {
    return status ? ErrorCode::Internal : status.error().code;
}

TEST(InlineBudget, RefusesWhatNoReplyMayHold) {
    const HandClock clock;
    InlineBudget budget{clock};
    EXPECT_TRUE(budget.take(":1.1", InlineBudget::kMaxReply));
    const Bytes too_much{InlineBudget::kMaxReply.count + 1};
    EXPECT_EQ(code_of(budget.take(":1.1", too_much)), ErrorCode::TooLarge);
}

TEST(InlineBudget, RefusesASenderThatTookItsShareUntilTheWindowEnds) {
    HandClock clock;
    InlineBudget budget{clock};
    const auto replies = InlineBudget::kPerSender.count / InlineBudget::kMaxReply.count;
    for (std::uint64_t i = 0; i < replies; ++i)
        EXPECT_TRUE(budget.take(":1.1", InlineBudget::kMaxReply));
    EXPECT_EQ(code_of(budget.take(":1.1", Bytes{1})), ErrorCode::TooManyRequests);
    EXPECT_TRUE(budget.take(":1.2", Bytes{1}));
    clock.now = InlineBudget::kWindow - Duration{1};
    EXPECT_FALSE(budget.take(":1.1", Bytes{1}));
    clock.now = InlineBudget::kWindow;
    EXPECT_TRUE(budget.take(":1.1", Bytes{1}));
}

TEST(InlineBudget, ForgetsTheFirstSenderForOneMoreThanItRemembers) {
    HandClock clock;
    InlineBudget budget{clock};
    const auto all_of_it = [&](const std::string& sender) {
        for (std::uint64_t used = 0; used < InlineBudget::kPerSender.count;
             used += InlineBudget::kMaxReply.count)
            EXPECT_TRUE(budget.take(sender, InlineBudget::kMaxReply)) << sender;
    };
    all_of_it(":1.0");
    for (std::size_t i = 1; i < InlineBudget::kMaxSenders; ++i) {
        clock.now += Duration{1};
        EXPECT_TRUE(budget.take(":1." + std::to_string(i), Bytes{1}));
    }
    EXPECT_FALSE(budget.take(":1.0", Bytes{1}));
    EXPECT_TRUE(budget.take(":2.1", Bytes{1})) << "nobody is refused for the number of others";
    EXPECT_TRUE(budget.take(":1.0", Bytes{1}));
}

}  // namespace admission_test
}  // namespace gpuprobe
