// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>

#include "base/event_loop.h"
#include "base/result.h"

namespace gpuprobe::bus {

/// Calls that are refused, but not at once.
///
/// Whoever keeps as many calls on their way as the bus allows sends the next one when one is
/// answered. A refusal costs so little that such a client, answered at once, would have the bus and
/// the daemon do nothing else. The bus lets a connection wait for a limited number of answers (128
/// on a system bus, dbus-daemon(1), max_replies_per_connection), so a client whose refusals come
/// late sends no more than come.
class Refusals {
public:
    static constexpr std::size_t kMax = 65'536;  ///< with more they are sent at once
    static constexpr std::size_t kAtOnce = 10;
    static constexpr Duration kPause = std::chrono::milliseconds{10};

    using Send =
        std::function<void(const std::string& sender, std::uint32_t serial, const Error& error)>;
    /// `may_send`: asked before each pause's end; nothing is sent where it says no.
    Refusals(EventLoop& loop, Send send, std::function<bool()> may_send)
        : loop_{loop}, send_{std::move(send)}, may_send_{std::move(may_send)} {}

    /// To be answered with `error`, some time later.
    void add(const std::string& sender, std::uint32_t serial, const Error& error);
    [[nodiscard]] std::size_t size() const { return count_; }

private:
    struct Sender {
        Error error;                             ///< the last one, for all of them
        std::deque<std::uint32_t> serials = {};  ///< never empty
    };
    void send_some();
    void send_next();

    EventLoop& loop_;
    Send send_;
    std::function<bool()> may_send_;
    std::map<std::string, Sender> waiting_ = {};
    std::size_t count_ = 0;  ///< of serials in waiting_
    std::string last_ = {};  ///< who was answered last
    EventHandle pause_ = {};
};

}  // namespace gpuprobe::bus
