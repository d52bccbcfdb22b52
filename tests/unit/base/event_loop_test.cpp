// SPDX-License-Identifier: Apache-2.0
#include "base/event_loop.h"

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe {
namespace event_loop_test {

struct Pipe {
    UniqueFd read_end = {};
    UniqueFd write_end = {};
};

Pipe make_pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    return Pipe{UniqueFd{ends[0]}, UniqueFd{ends[1]}};
}

TEST(SystemLoop, ServesHardwareBeforeTheBusWhenBothAreReady) {
    auto loop = SystemLoop::create().value();
    const auto bus = make_pipe();
    const auto udev = make_pipe();
    ASSERT_EQ(::write(bus.write_end.get(), "x", 1), 1);
    ASSERT_EQ(::write(udev.write_end.get(), "x", 1), 1);
    std::string order;
    EventHandle bus_watch, udev_watch;
    bus_watch = loop->watch(bus.read_end.get(), EPOLLIN, EventLoop::Priority::Normal, [&](auto) {
        order += "bus ";
        bus_watch.reset();
    });
    udev_watch =
        loop->watch(udev.read_end.get(), EPOLLIN, EventLoop::Priority::Hardware, [&](auto) {
            order += "udev ";
            udev_watch.reset();
        });
    ASSERT_TRUE(loop->run_until([&] { return !bus_watch && !udev_watch; }));
    EXPECT_EQ(order, "udev bus ");
}

TEST(SystemLoop, RunsATimerOnce) {
    auto loop = SystemLoop::create().value();
    int runs = 0;
    const auto first = loop->after(Duration{1}, [&] { ++runs; });
    const auto second = loop->after(Duration{2000}, [&] { loop->stop(7); });
    EXPECT_EQ(loop->run().value(), 7);
    EXPECT_EQ(runs, 1);
}

TEST(SystemLoop, RemovesASourceWhoseHandleWasDestroyed) {
    auto loop = SystemLoop::create().value();
    bool ran = false;
    loop->after(Duration{1}, [&] { ran = true; }).reset();
    const auto end = loop->after(Duration{3000}, [&] { loop->stop(0); });
    ASSERT_TRUE(loop->run());
    EXPECT_FALSE(ran);
}

TEST(SystemLoop, RunsTimersInTheOrderInWhichTheyAreDue) {
    auto loop = SystemLoop::create().value();
    std::string order;
    const auto late = loop->after(Duration{2000}, [&] { order += "late"; });
    const auto soon = loop->after(Duration{1000}, [&] { order += "soon "; });
    const auto at_once = loop->after(Duration{-1}, [&] { order += "at once "; });
    ASSERT_TRUE(loop->run_until([&] { return order.ends_with("late"); }));
    EXPECT_EQ(order, "at once soon late");
}

TEST(SystemLoop, RunsATimerWhileAWorkerNeverStopsWriting) {
    auto loop = SystemLoop::create().value();
    const auto worker = make_pipe();
    ASSERT_EQ(::write(worker.write_end.get(), "x", 1), 1);
    const auto frames =
        loop->watch(worker.read_end.get(), EPOLLIN, EventLoop::Priority::Worker, [](auto) {});
    const auto deadline = loop->after(Duration{2000}, [&] { loop->stop(0); });
    EXPECT_TRUE(loop->run());
}

TEST(SystemLoop, ServesSourcesOfOnePriorityInTurn) {
    auto loop = SystemLoop::create().value();
    const auto first = make_pipe();
    const auto second = make_pipe();
    ASSERT_EQ(::write(first.write_end.get(), "x", 1), 1);
    ASSERT_EQ(::write(second.write_end.get(), "x", 1), 1);
    int of_first = 0;
    int of_second = 0;
    int deferred = 0;
    EventHandle next;
    const auto watch = [&](const Pipe& pipe, int& count) {
        return loop->watch(pipe.read_end.get(), EPOLLIN, EventLoop::Priority::Normal,
                           [&count](auto) { ++count; });
    };
    const auto first_watch = watch(first, of_first);
    const auto second_watch = watch(second, of_second);
    const std::function<void()> again = [&] {
        ++deferred;
        next = loop->defer(again);
    };
    again();
    ASSERT_TRUE(loop->run_until([&] { return of_first + of_second + deferred >= 300; }));
    for (const int count : {of_first, of_second, deferred})
        EXPECT_GE(count, 50);
}

TEST(SystemLoop, GivesNoHandleForADescriptorThatItAlreadyWatches) {
    auto loop = SystemLoop::create().value();
    const auto pipe = make_pipe();
    ASSERT_EQ(::write(pipe.write_end.get(), "x", 1), 1);
    bool ran = false;
    const auto first = loop->watch(pipe.read_end.get(), EPOLLIN, EventLoop::Priority::Normal,
                                   [&](auto) { ran = true; });
    EXPECT_FALSE(
        loop->watch(pipe.read_end.get(), EPOLLIN, EventLoop::Priority::Normal, [](auto) {}));
    ASSERT_TRUE(loop->run_until([&] { return ran; }));
}

TEST(SystemLoop, MayBeDestroyedBeforeAHandle) {
    auto loop = SystemLoop::create().value();
    const auto pipe = make_pipe();
    auto watch =
        loop->watch(pipe.read_end.get(), EPOLLIN, EventLoop::Priority::Normal, [](auto) {});
    auto timer = loop->after(Duration{1}, [] {});
    loop.reset();
    watch.reset();
    timer.reset();
}

TEST(SystemLoop, RunsACallbackOnEachHangup) {
    auto loop = SystemLoop::create().value();
    int hangups = 0;
    ASSERT_TRUE(loop->on_hangup([&] { ++hangups; }));
    for (int sent = 1; sent <= 2; ++sent) {
        ::raise(SIGHUP);
        ASSERT_TRUE(loop->run_until([&] { return hangups == sent; }));
    }
}

TEST(SystemLoop, StopsOnASignalAndStaysStopped) {
    auto loop = SystemLoop::create().value();
    ASSERT_TRUE(loop->stop_on_signals());
    ::raise(SIGTERM);
    EXPECT_EQ(loop->run().value(), 0);
    EXPECT_FALSE(loop->run_until([] { return false; }));
}

}  // namespace event_loop_test
}  // namespace gpuprobe
