// SPDX-License-Identifier: Apache-2.0
#include "probe/spawn.h"

#include <cerrno>
#include <csignal>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuprobe {
namespace spawn_test {

constexpr int kFirstOwnFd = 10;

bool is_closed_on_exec(const UniqueFd& fd) {
    return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0;
}

/// The pipes of a worker, and the order to start it.
struct Job {
    Pipe frames = *Pipe::create();
    Pipe output = *Pipe::create();
    SpawnOrder order = {};

    explicit Job(std::vector<std::string> arguments)
        : order{.arguments = std::move(arguments),
                .frames = frames.write.get(),
                .output = output.write.get()} {}

    /// All data that the worker has written. Waits until no process holds the write end.
    static std::string written(Pipe& pipe) {
        pipe.write.reset();
        std::string text;
        char bytes[4096];
        for (ssize_t count = 0; (count = ::read(pipe.read.get(), bytes, sizeof bytes)) > 0;)
            text.append(bytes, static_cast<std::size_t>(count));
        return text;
    }
};

int status_of(const StartingProcess& started) {
    int status = -1;
    EXPECT_EQ(::waitpid(started.process.pid, &status, 0), started.process.pid);
    return status;
}

Job shell(const std::string& script) {
    return Job{{"/bin/sh", "-c", script}};
}

TEST(Pipe, HasHighNumbersThatAreClosedOnExec) {
    const auto pipe = Pipe::create();
    ASSERT_TRUE(pipe);
    for (const auto* end : {&pipe->read, &pipe->write}) {
        EXPECT_GE(end->get(), kFirstOwnFd);
        EXPECT_TRUE(is_closed_on_exec(*end));
    }
}

TEST(Pipe, OfAWorkerBlocksOnlyTheWorker) {
    const auto pipe = worker_pipe();
    ASSERT_TRUE(pipe);
    EXPECT_TRUE(::fcntl(pipe->read.get(), F_GETFL) & O_NONBLOCK);
    EXPECT_FALSE(::fcntl(pipe->write.get(), F_GETFL) & O_NONBLOCK);
    char byte = 0;
    EXPECT_EQ(::read(pipe->read.get(), &byte, 1), -1);
    EXPECT_EQ(errno, EAGAIN);
}

TEST(Raised, KeepsAHighDescriptorAndMovesALowOne) {
    UniqueFd low{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    const auto number = low.get();
    auto high = raised(std::move(low));
    ASSERT_TRUE(high);
    EXPECT_GE(high->get(), kFirstOwnFd);
    EXPECT_TRUE(is_closed_on_exec(*high));
    if (number < kFirstOwnFd) {
        EXPECT_EQ(::fcntl(number, F_GETFD), -1) << "the low one is closed";
    }
    const auto same = high->get();
    EXPECT_EQ(raised(*std::move(high))->get(), same);
    EXPECT_FALSE(raised(UniqueFd{}));
}

TEST(StartReport, IsTheErrorThatWasWrittenOrNothing) {
    const auto problem_after = [](const std::string& bytes) {
        auto pipe = Pipe::create();
        EXPECT_EQ(::write(pipe->write.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        pipe->write.reset();
        return problem_from(pipe->read.get());
    };
    const int refused = -EPERM;
    EXPECT_EQ(problem_after({reinterpret_cast<const char*>(&refused), sizeof refused}), -EPERM);
    EXPECT_EQ(problem_after(""), 0);
    EXPECT_EQ(problem_after("x"), 0) << "a part of a number is not an error";
}

TEST(Spawn, RunsAProgramThatEndsAsItsReaperDoes) {
    for (const int code : {0, 7}) {
        auto job = shell("exit " + std::to_string(code));
        auto started = spawn(job.order);
        ASSERT_TRUE(started) << started.error().text;
        EXPECT_TRUE(await_running(*started));
        const int status = status_of(*started);
        ASSERT_TRUE(WIFEXITED(status));
        EXPECT_EQ(WEXITSTATUS(status), code);
    }
    auto job = shell("kill -KILL $$");
    auto started = spawn(job.order);
    ASSERT_TRUE(started);
    const int status = status_of(*started);
    ASSERT_TRUE(WIFSIGNALED(status));
    EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST(Spawn, NamesAProgramThatCannotRun) {
    for (const auto* program : {"/nonexistent/worker", "/dev/null"}) {
        Job job{{program}};
        auto started = spawn(job.order);
        ASSERT_TRUE(started) << "only the child finds out";
        const auto running = await_running(*started);
        ASSERT_FALSE(running) << program;
        EXPECT_EQ(running.error().code, ErrorCode::ProbeFailed);
        EXPECT_TRUE(running.error().text.starts_with(std::string{program} + ": cannot be run"))
            << running.error().text;
        EXPECT_EQ(::waitpid(started->process.pid, nullptr, 0), -1) << "it has been reaped";
    }
}

TEST(Spawn, ReportsAfterTheEndWhetherTheProgramRan) {
    auto job = shell("exit 1");
    auto started = spawn(job.order);
    ASSERT_TRUE(started);
    (void)status_of(*started);
    EXPECT_TRUE(has_run(*started));
    Job missing{{"/nonexistent/worker"}};
    auto failed = spawn(missing.order);
    ASSERT_TRUE(failed);
    (void)status_of(*failed);
    EXPECT_FALSE(has_run(*failed));
    EXPECT_TRUE(has_run(StartingProcess{})) << "it was known to run before";
}

TEST(Spawn, GivesTheWorkerItsDescriptorsAndNoOthers) {
    auto job = shell("echo frame >&3; echo out; echo err >&2; cat; ls /proc/self/fd");
    auto started = spawn(job.order);
    ASSERT_TRUE(started);
    EXPECT_EQ(Job::written(job.frames), "frame\n");
    // Descriptor 4 is the folder that `ls` lists.
    EXPECT_EQ(Job::written(job.output), "out\nerr\n0\n1\n2\n3\n4\n");
    EXPECT_EQ(status_of(*started), 0);
}

TEST(Spawn, GivesTheWorkerItsInputEnvironmentAndFolder) {
    auto job = shell("cat; pwd; env | grep -v '^PWD=\\|^SHLVL=\\|^_='; umask");
    auto input = *Pipe::create();
    ASSERT_EQ(::write(input.write.get(), "in\n", 3), 3);
    input.write.reset();
    job.order.input = input.read.get();
    job.order.environment = {"A=1", "PATH=/usr/bin:/bin"};
    job.order.folder = "/tmp";
    auto started = spawn(job.order);
    ASSERT_TRUE(started);
    EXPECT_EQ(Job::written(job.output), "in\n/tmp\nA=1\nPATH=/usr/bin:/bin\n0077\n");
    EXPECT_EQ(status_of(*started), 0);
}

TEST(Spawn, LimitsTheWorker) {
    auto job = shell("ulimit -c; ulimit -f; grep -E '^(NoNewPrivs|SigBlk):' /proc/self/status");
    job.order.environment = {"PATH=/usr/bin:/bin"};
    auto started = spawn(job.order);
    ASSERT_TRUE(started);
    // 256 MiB in blocks of 512 bytes; a core file of one byte is less than a block.
    EXPECT_EQ(Job::written(job.output), "0\n524288\nSigBlk:\t0000000000000000\nNoNewPrivs:\t1\n");
    EXPECT_EQ(status_of(*started), 0);
}

}  // namespace spawn_test
}  // namespace gpuprobe
