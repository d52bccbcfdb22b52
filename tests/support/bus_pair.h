// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <systemd/sd-bus.h>

namespace gpuprobe::support {

using BusMessage = std::shared_ptr<sd_bus_message>;
using WriteMessage = std::function<void(sd_bus_message*)>;

/// Two connections of sd-bus that are connected to each other, without a bus in between. Messages
/// are handled only in run().
class BusPair {
public:
    BusPair() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        server_ = started(ends[0], true);
        client_ = started(ends[1], false);
    }
    ~BusPair() {
        sd_bus_close_unref(client_);
        sd_bus_close_unref(server_);
    }
    BusPair(const BusPair&) = delete;
    BusPair& operator=(const BusPair&) = delete;

    [[nodiscard]] sd_bus* server() const { return server_; }
    [[nodiscard]] sd_bus* client() const { return client_; }

    /// A message that `write` has filled. It is not sent, and can be read at once.
    [[nodiscard]] BusMessage written(const WriteMessage& write) const {
        sd_bus_message* created = nullptr;
        EXPECT_GE(sd_bus_message_new_signal(client_, &created, "/", "org.example.Test", "Written"),
                  0);
        BusMessage message{created, sd_bus_message_unref};
        write(created);
        EXPECT_GE(sd_bus_message_seal(created, 1, 0), 0);
        EXPECT_GE(sd_bus_message_rewind(created, 1), 0);
        return message;
    }

    /// Sends a call from the client to the server, which handles it in run(). The reply is null
    /// until it has arrived.
    const BusMessage& ask(const char* path,
                          const char* interface,
                          const char* member,
                          const WriteMessage& write = {}) {
        sd_bus_message* created = nullptr;
        EXPECT_GE(
            sd_bus_message_new_method_call(client_, &created, nullptr, path, interface, member), 0);
        const BusMessage call{created, sd_bus_message_unref};
        if (write)
            write(created);
        const auto keep = [](sd_bus_message* reply, void* place, sd_bus_error*) {
            *static_cast<BusMessage*>(place) = {sd_bus_message_ref(reply), sd_bus_message_unref};
            return 0;
        };
        auto& reply = replies_.emplace_back();
        EXPECT_GE(sd_bus_call_async(client_, nullptr, created, keep, &reply, 0), 0);
        return reply;
    }

    /// Handles messages on both connections until none are left.
    void run() {
        constexpr int kRounds = 20;  // during authentication, one connection may wait for the other
        for (int idle = 0; idle < kRounds;) {
            const bool is_busy =
                sd_bus_process(client_, nullptr) > 0 || sd_bus_process(server_, nullptr) > 0;
            idle = is_busy ? 0 : idle + 1;
        }
    }

private:
    static sd_bus* started(int descriptor, bool is_server) {
        sd_bus* bus = nullptr;
        sd_id128_t id{};
        id.bytes[0] = 1;
        EXPECT_GE(sd_bus_new(&bus), 0);
        EXPECT_GE(sd_bus_set_fd(bus, descriptor, descriptor), 0);
        if (is_server) {
            EXPECT_GE(sd_bus_set_server(bus, 1, id), 0);
        }
        EXPECT_GE(sd_bus_set_anonymous(bus, 1), 0);
        EXPECT_GE(sd_bus_start(bus), 0);
        return bus;
    }

    sd_bus* server_ = nullptr;
    sd_bus* client_ = nullptr;
    std::deque<BusMessage> replies_ = {};  // a deque, so that references to the replies stay valid
};

}  // namespace gpuprobe::support
