// SPDX-License-Identifier: Apache-2.0
#include "base/event_loop.h"

#include <string>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe {
namespace {

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

TEST(SystemLoop, ForgetsASourceWhoseHandleIsGone) {
    auto loop = SystemLoop::create().value();
    bool ran = false;
    loop->after(Duration{1}, [&] { ran = true; }).reset();
    const auto end = loop->after(Duration{3000}, [&] { loop->stop(0); });
    ASSERT_TRUE(loop->run());
    EXPECT_FALSE(ran);
}

}  // namespace
}  // namespace gpuprobe
