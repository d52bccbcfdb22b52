// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/event_loop.h"
#include "base/handle.h"
#include "base/result.h"
#include "wire/sdbus.h"

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

/// A call that sets a property to a text.
struct PropertyWrite {
    std::string sender = {};
    std::string interface = {};
    std::string property = {};
    std::string text = {};
};

/// One connection to a bus, driven by the event loop. It handles few messages per turn, so that
/// sources with a higher priority get their turn in between.
class Connection {
public:
    /// `where`: "system", "session" or a D-Bus address. Errors: Unavailable.
    static Result<std::unique_ptr<Connection>> open(const std::string& where, EventLoop& loop);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Errors: Unavailable when the name has an owner for longer than `patience`, NotAuthorized
    /// when the bus denies it. The text holds name and reason.
    Status own_name(const std::string& name, Duration patience = {});
    [[nodiscard]] sdbus::IConnection& bus() { return *bus_; }

    /// Starts to handle messages. When the bus is gone, `lost` is called once, from the loop; it
    /// may destroy this object.
    void start(std::function<void(const std::string& reason)> lost);
    /// `used` is called kUse after a message came, once for all that come meanwhile.
    void on_use(std::function<void()> used) { used_ = std::move(used); }
    static constexpr Duration kUse = std::chrono::seconds{2};
    static constexpr int kMessagesPerTurn = 64;
    static constexpr Bytes kMaxCall = mib(2);                        ///< as on the socket
    static constexpr Duration kTurn = std::chrono::milliseconds{1};  ///< no message after it
    /// `admit` judges each call by its sender before anything else is read of it; an error is the
    /// answer, as late as Refusals has it. `handled` learns how long a message took.
    void admit_by(std::function<Status(const std::string& sender)> admit,
                  std::function<void(Duration)> handled);
    /// Asks `decide` about each PropertyWrite, before sd-bus does: sd-bus lets every caller write
    /// on a connection that it trusts, which is each one but the system bus's. `decide` returns
    /// false to leave a call to sd-bus; otherwise it calls `done` once, perhaps later.
    using WriteDone = std::function<void(const Status&)>;
    void on_write(std::function<bool(const PropertyWrite&, WriteDone done)> decide) {
        decide_write_ = std::move(decide);
    }
    /// `taken` is called when the bus has taken all that untaken() counted.
    void on_taken(std::function<void()> taken) { taken_ = std::move(taken); }
    /// `turn` is called before each reading.
    void before_reading(std::function<void()> turn) { turn_ = std::move(turn); }
    /// Messages that were sent and that the bus has not taken.
    [[nodiscard]] std::size_t untaken() const;
    /// Whether there is a message that has not been handled.
    [[nodiscard]] bool has_input() const;
    /// To be called after sending something outside of a bus handler.
    void update();
    /// About how many bytes the call holds that is being handled: its texts, and a word for each
    /// other value.
    [[nodiscard]] std::size_t call_size() const { return call_size_; }
    /// Whether messages have been read: before that nobody has been told of any object.
    [[nodiscard]] bool has_read() const { return has_read_; }
    /// True while the bus does not accept what was sent.
    [[nodiscard]] bool congested() const { return untaken() > 0; }

private:
    Connection(std::unique_ptr<sdbus::IConnection> bus, EventLoop& loop);
    static int refuse_too_much(sd_bus_message* message, void* self, sd_bus_error* problem);
    static int take_write(sd_bus_message* message, void* self, sd_bus_error* problem);
    static int refuse_unadmitted(sd_bus_message* message, void* self, sd_bus_error* problem);
    Status request_name(const std::string& name);
    void refuse(const std::string& sender, std::uint32_t serial, const Error& error);
    void step();
    bool handle_one();
    void watch(const PollWish& wish);
    void schedule(const PollWish& wish);
    void lose(const std::string& reason);

    std::unique_ptr<sdbus::IConnection> bus_;
    sd_bus* raw_;  ///< bus_'s
    EventLoop& loop_;
    std::function<void(const std::string&)> lost_ = {};
    std::function<Status(const std::string&)> admit_ = {};
    std::function<void(Duration)> handled_ = {};
    std::function<bool(const PropertyWrite&, WriteDone)> decide_write_ = {};
    std::function<void()> taken_ = {};
    std::function<void()> turn_ = {};
    bool was_congested_ = false;
    bool has_read_ = false;
    std::size_t call_size_ = 0;
    Refusals refusals_;
    /// The bus's socket once more: sd-bus closes its own when the bus is lost, and its number may
    /// be somebody else's when the watch ends.
    UniqueFd socket_ = {};
    EventHandle ready_ = {};
    std::uint32_t watched_ = 0;  ///< the events of ready_
    EventHandle due_ = {};
    std::optional<MonotonicTime> due_at_ = {};  ///< when due_ runs; nullopt: in the next turn
    EventHandle loss_ = {};
    std::function<void()> used_ = {};
    EventHandle use_ = {};
};

}  // namespace gpuprobe::bus
