// SPDX-License-Identifier: Apache-2.0
#include "probe/socket_worker.h"

#include <csignal>
#include <filesystem>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "base/event_loop.h"
#include "base/value.h"
#include "fakes/worker/worker_socket.h"
#include "probe/supervisor.h"
#include "probe/worker_answer.h"
#include "support/case_name.h"
#include "support/temporary_folder.h"

namespace gpuprobe {
namespace socket_worker_test {

using scripted::WorkerSocket;

constexpr std::string_view kStarted = R"({"event":"started"})";

/// Does the work of the worker's unit, with this program instead of gpuprobe-worker.
void serve(UniqueFd connection) {
    SpawnLauncher launcher{"/proc/self/exe", ""};
    (void)serve_worker(connection, launcher, ::geteuid());
}

/// A parent process that receives the request and sends `texts`.
WorkerSocket::Serve say(std::vector<std::string> texts) {
    return [texts](const UniqueFd& connection) {
        pollfd request = {.fd = connection.get(), .events = POLLIN, .revents = 0};
        ::poll(&request, 1, 10'000);
        (void)receive_message(connection.get(), kMaxRequest, kRequestDescriptors);
        for (const auto& text : texts)
            (void)send_message(connection.get(), text);
    };
}

std::size_t open_descriptors() {
    const std::filesystem::directory_iterator own{"/proc/self/fd"};
    return static_cast<std::size_t>(std::distance(begin(own), end(own)));
}

/// Makes one probe with a supervisor, which works in the same way with every launcher.
ProbeResult probe(Launcher& launcher,
                  const ProbeTarget& target,
                  Duration limit = std::chrono::seconds{10}) {
    const auto loop = SystemLoop::create();
    const SystemClock clock;
    Supervisor supervisor{**loop, launcher, clock, ProbeLimits{.query = limit}};
    ProbeResult result;
    supervisor.start(target, [&](ProbeResult answer) {
        result = std::move(answer);
        (*loop)->stop(0);
    });
    (void)(*loop)->run();
    return result;
}

class Socket : public ::testing::Test {
protected:
    ProbeResult through_socket(const std::string& script,
                               const WorkerSocket::Serve& server = serve,
                               Duration limit = std::chrono::seconds{10}) {
        const WorkerSocket socket{folder_.path() + "/worker.sock", server};
        EXPECT_TRUE(socket.runs());
        SocketLauncher launcher{socket.path(), stand_in_, complain_};
        auto result = probe(launcher, {.api = script}, limit);
        std::filesystem::remove(socket.path());
        return result;
    }

    support::TemporaryFolder folder_ = {};
    SpawnLauncher spawn_{"/proc/self/exe", ""};
    SpawnLauncher* stand_in_ = nullptr;
    std::vector<std::string> complaints_ = {};
    SocketLauncher::Complaint complain_ = [this](const std::string& problem) {
        complaints_.push_back(problem);
    };
};

struct Case {
    const char* name;
    const char* script;
    Outcome outcome;
};
class SocketAndSpawn : public Socket, public ::testing::WithParamInterface<Case> {};

TEST_P(SocketAndSpawn, GiveTheSameAnswer) {
    auto spawned = probe(spawn_, {.api = GetParam().script});
    auto served = through_socket(GetParam().script);
    served.at = spawned.at;
    served.duration = spawned.duration;
    EXPECT_EQ(json_line(value_of(served)), json_line(value_of(spawned)));
    EXPECT_EQ(served.outcome, GetParam().outcome) << served.note.value_or("");
    EXPECT_EQ(complaints_, std::vector<std::string>{});
}

INSTANTIATE_TEST_SUITE_P(Workers,
                         SocketAndSpawn,
                         ::testing::Values(Case{"Good", "good", Outcome::Answered},
                                           Case{"Silent", "silent", Outcome::Failed},
                                           Case{"ExitSeven", "exit-7", Outcome::Failed},
                                           Case{"Unfinished", "unfinished", Outcome::Failed},
                                           Case{"Garbage", "garbage", Outcome::Failed},
                                           Case{"Torn", "torn", Outcome::Failed},
                                           Case{"Crash", "crash", Outcome::Crashed},
                                           Case{"Abort", "abort", Outcome::Crashed},
                                           Case{"PrintAndFail", "print-and-fail", Outcome::Failed},
                                           Case{"Stay", "stay", Outcome::Answered},
                                           Case{"FloodFrames", "flood-frames", Outcome::Failed},
                                           Case{"ChildHoldsPipes", "child-holds-pipes",
                                                Outcome::Answered}),
                         support::case_name);

TEST_F(Socket, KillsAWorkerThatMissesItsDeadline) {
    for (const auto* script : {"hang", "stop", "close-everything", "flood-output"})
        EXPECT_EQ(through_socket(script, serve, std::chrono::milliseconds{300}).outcome,
                  Outcome::TimedOut)
            << script;
}

TEST_F(Socket, ReportsTheEndOfAKilledWorker) {
    const WorkerSocket socket{folder_.path() + "/worker.sock", serve};
    SocketLauncher launcher{socket.path(), nullptr, complain_};
    const auto worker = launcher.launch({.api = "hang"});
    ASSERT_TRUE(worker);
    pollfd spoken = {.fd = (*worker)->frames(), .events = POLLIN, .revents = 0};
    ASSERT_EQ(::poll(&spoken, 1, 10'000), 1);
    (*worker)->kill();
    std::optional<WorkerExit> exit;
    pollfd end = {.fd = (*worker)->ended(), .events = POLLIN, .revents = 0};
    while (!exit && ::poll(&end, 1, 10'000) == 1)
        exit = (*worker)->reap();
    ASSERT_TRUE(exit);
    EXPECT_EQ(exit->signal, std::nullopt);
    EXPECT_EQ(exit->code, 143) << "its keeper was told to end";
    EXPECT_GT(exit->peak_memory.value_or(Bytes{0}).count, 0U);
    EXPECT_TRUE(exit->processor_time);
}

TEST_F(Socket, LeavesNoDescriptorOpen) {
    const auto before = open_descriptors();
    for (const auto* script : {"good", "crash", "garbage", "silent"})
        (void)through_socket(script);
    (void)through_socket("good", [](const UniqueFd&) {});
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(Socket, IsAnOutcomeWhenItIsMissing) {
    SocketLauncher launcher{folder_.path() + "/worker.sock", nullptr, complain_};
    const auto result = probe(launcher, {.api = "good"});
    EXPECT_EQ(result.outcome, Outcome::Failed);
    ASSERT_EQ(result.reasons.size(), 1U);
    EXPECT_EQ(result.reasons[0].code, "worker-not-started");
    EXPECT_TRUE(result.note->ends_with("worker.sock: No such file or directory")) << *result.note;
}

TEST_F(Socket, IsAnOutcomeWhenItsLimitIsHit) {
    WorkerSocket socket{folder_.path() + "/worker.sock", serve};
    socket.stop();
    SocketLauncher launcher{socket.path(), nullptr, complain_};
    const auto result = probe(launcher, {.api = "good"});
    EXPECT_EQ(result.outcome, Outcome::Failed);
    EXPECT_TRUE(result.note->ends_with("worker.sock: Connection refused")) << *result.note;
}

TEST_F(Socket, LetsTheStandInStartWhatItCanNot) {
    SocketLauncher launcher{folder_.path() + "/worker.sock", &spawn_, complain_};
    EXPECT_EQ(probe(launcher, {.api = "good"}).outcome, Outcome::Answered);
    EXPECT_EQ(probe(launcher, {.api = "crash"}).outcome, Outcome::Crashed);
    EXPECT_EQ(complaints_.size(), 1U);  // only one complaint, not one for each worker
}

TEST_F(Socket, ComplainsAgainOnceItHasWorked) {
    SocketLauncher launcher{folder_.path() + "/worker.sock", &spawn_, complain_};
    (void)probe(launcher, {.api = "good"});
    {
        const WorkerSocket socket{folder_.path() + "/worker.sock", serve};
        EXPECT_EQ(probe(launcher, {.api = "good"}).outcome, Outcome::Answered);
    }
    EXPECT_EQ(complaints_.size(), 1U);
    (void)probe(launcher, {.api = "good"});
    EXPECT_EQ(complaints_.size(), 2U);
}

/// Simulates a unit that cannot be started, and the socket's limit on connections.
const WorkerSocket::Serve kClosed = [](const UniqueFd&) {};

TEST_F(Socket, IsAnOutcomeWhenItCloses) {
    const auto result = through_socket("good", kClosed);
    EXPECT_EQ(result.outcome, Outcome::Failed);
    EXPECT_EQ(result.note, "ended without an answer");
    const auto text = json_line(to_value(result.reasons));
    EXPECT_NE(text.find("worker.sock: a worker could not be started: "), std::string::npos) << text;
}

TEST_F(Socket, LetsTheStandInStartWhatItCloses) {
    stand_in_ = &spawn_;
    for (const auto& [script, outcome] :
         {std::pair{"good", Outcome::Answered}, std::pair{"crash", Outcome::Crashed}})
        EXPECT_EQ(through_socket(script, kClosed).outcome, outcome) << script;
}

TEST_F(Socket, ComplainsOnceHoweverOftenItCloses) {
    const WorkerSocket socket{folder_.path() + "/worker.sock", kClosed};
    SocketLauncher launcher{socket.path(), &spawn_, complain_};
    const auto loop = SystemLoop::create();
    const SystemClock clock;
    Supervisor supervisor{**loop, launcher, clock, ProbeLimits{}};
    constexpr std::size_t kProbes = 32;
    std::size_t answered = 0;
    std::size_t ended = 0;
    for (std::size_t i = 0; i < kProbes; ++i)
        supervisor.start({.api = "good"}, [&](const ProbeResult& result) {
            answered += result.outcome == Outcome::Answered ? 1 : 0;
            if (++ended == kProbes)
                (*loop)->stop(0);
        });
    (void)(*loop)->run();
    EXPECT_EQ(answered, kProbes);
    EXPECT_EQ(complaints_.size(), 1U);
}

TEST_F(Socket, KillsTheStandInToo) {
    stand_in_ = &spawn_;
    EXPECT_EQ(through_socket("hang", kClosed, std::chrono::milliseconds{300}).outcome,
              Outcome::TimedOut);
}

TEST_F(Socket, DoesNotRestartAStartedWorker) {
    stand_in_ = &spawn_;
    const auto result = through_socket("good", say({std::string{kStarted}}));
    EXPECT_EQ(result.outcome, Outcome::Failed);
    EXPECT_EQ(result.exit_code, std::nullopt);
    EXPECT_EQ(result.signal, std::nullopt);
}

TEST_F(Socket, BelievesNoOddNotice) {
    for (const auto* notice :
         {"", "x", "[]", "{}", R"({"event":"won"})", R"({"event":"ended","code":"0"})",
          R"({"event":"ended","code":1e9})"})
        EXPECT_EQ(through_socket("good", say({std::string{kStarted}, notice})).outcome,
                  Outcome::Failed)
            << notice;
    const std::string endless(kMaxNotice.count + 1, ' ');
    EXPECT_EQ(through_socket("good", say({std::string{kStarted}, endless})).outcome,
              Outcome::Failed);
}

TEST_F(Socket, IsNotWaitedForWhenItStaysSilent) {
    const auto silent = [](const UniqueFd& connection) {
        pollfd end = {.fd = connection.get(), .events = POLLRDHUP, .revents = 0};
        ::poll(&end, 1, 10'000);
    };
    const auto result = through_socket("good", silent, std::chrono::milliseconds{200});
    EXPECT_EQ(result.outcome, Outcome::TimedOut);
}

// The worker's side ------------------------------------------------------------------------------

/// Both ends of a connection, and a request's two descriptors.
class ServedConnection : public ::testing::Test {
protected:
    void SetUp() override {
        int ends[2] = {-1, -1};
        ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
        ours_.reset(ends[0]);
        theirs_.reset(ends[1]);
    }
    [[nodiscard]] ErrorCode refusal(uid_t peer = ::geteuid()) {
        ::shutdown(ours_.get(), SHUT_WR);
        const auto served = serve_worker(theirs_, launcher_, peer);
        return served ? ErrorCode::Internal : served.error().code;
    }

    UniqueFd ours_ = {};
    UniqueFd theirs_ = {};
    UniqueFd null_{::open("/dev/null", O_RDWR | O_CLOEXEC)};
    SpawnLauncher launcher_{"/proc/self/exe", ""};
};

TEST_F(ServedConnection, RefusesInvalidRequests) {
    const std::vector<int> two(2, null_.get());
    for (const auto* text :
         {"x", "{}", "[]", R"({"api":"","driver":"","library":null,"stage":"query"})",
          R"({"api":"--socket","driver":"","library":null,"stage":"query"})"}) {
        SetUp();
        ASSERT_TRUE(send_message(ours_.get(), text, two));
        EXPECT_EQ(refusal(), ErrorCode::Malformed) << text;
    }
}

TEST_F(ServedConnection, CountsDescriptors) {
    const auto request = json_line(to_value(ProbeTarget{.api = "good"}));
    const auto before = open_descriptors();
    for (const std::size_t count : {0U, 1U, 3U, 4U}) {
        SetUp();
        ASSERT_TRUE(send_message(ours_.get(), request, std::vector<int>(count, null_.get())));
        EXPECT_EQ(refusal(), ErrorCode::Malformed) << count;
    }
    EXPECT_EQ(open_descriptors(), before);
}

TEST_F(ServedConnection, RefusesALongRequest) {
    const std::string endless(kMaxRequest.count + 1, ' ');
    ASSERT_TRUE(send_message(ours_.get(), endless, std::vector<int>(2, null_.get())));
    EXPECT_EQ(refusal(), ErrorCode::TooLarge);
}

TEST_F(ServedConnection, StartsNothingForAClientThatHasLeft) {
    EXPECT_EQ(refusal(), ErrorCode::Unavailable);
}

TEST(ServeWorker, AnswersRootAndItsPeerOnly) {
    const pid_t child = ::fork();
    if (child == 0) {
        // Run as a user other than root. The process that creates a socket pair is the peer at both
        // ends.
        constexpr uid_t kNobody = 65534;
        const bool is_other = ::geteuid() != 0 || ::setuid(kNobody) == 0;
        int ends[2] = {-1, -1};
        if (!is_other || ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
            ::_exit(2);
        SpawnLauncher launcher{"/proc/self/exe", ""};
        const UniqueFd end{ends[0]};
        const auto served = serve_worker(end, launcher, ::geteuid() + 1);
        ::_exit(!served && served.error().code == ErrorCode::NotAuthorized ? 0 : 1);
    }
    int status = -1;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
}

}  // namespace socket_worker_test
}  // namespace gpuprobe
