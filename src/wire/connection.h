// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sdbus-c++/sdbus-c++.h>
#include <sys/types.h>

#include "base/event_loop.h"
#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "wire/bus.h"

/// Names and paths on the bus. The bus name can be changed at build time (GPUPROBE_BUS_NAME);
/// interfaces and paths cannot.

namespace gpuprobe::bus {

constexpr const char* kBusName = GPUPROBE_BUS_NAME;
constexpr const char* kRootPath = "/org/gpuprobe/GpuProbe1";
constexpr const char* kGpuPath = "/org/gpuprobe/GpuProbe1/gpu/";
constexpr const char* kLogControlPath = "/org/freedesktop/LogControl1";

// The differences between sdbus-c++ 1.x (Debian 12) and 2.x (Debian 13) that matter to this
// program. Source: sdbus-c++, docs/using-sdbus-c++.md, "Migrating to sdbus-c++ v2".

/// A dictionary of variants: a{sv}.
using Dictionary = std::map<std::string, sdbus::Variant>;

#ifdef GPUPROBE_SDBUS_2
using ServiceName = sdbus::ServiceName;
/// The first parameter of a proxy's reply handler, before the results.
using ReplyError = std::optional<sdbus::Error>;
#else
using ServiceName = std::string;
using ReplyError = const sdbus::Error*;
#endif

inline void add_object_manager(sdbus::IConnection& connection, const std::string& path) {
#ifdef GPUPROBE_SDBUS_2
    connection.addObjectManager(sdbus::ObjectPath{path});
#else
    connection.addObjectManager(path, sdbus::floating_slot);
#endif
}

/// A proxy on a connection whose events are handled elsewhere.
inline std::unique_ptr<sdbus::IProxy> make_proxy(sdbus::IConnection& connection,
                                                 const std::string& service,
                                                 const std::string& path) {
    return sdbus::createProxy(connection, ServiceName{service}, sdbus::ObjectPath{path});
}

/// The credentials of a process at the time when it connected to the bus. The process may have
/// changed its credentials since then.
struct Credentials {
    uid_t uid = 0;
    std::optional<pid_t> pid = {};
    /// The groups, including the primary group; nullopt if the bus or the kernel does not report
    /// groups.
    std::optional<std::vector<std::uint32_t>> groups = {};
};

/// Looks up the user behind a name on the bus. Queries to the bus are asynchronous, because waiting
/// would delay all other calls.
///
/// The result for a unique name stays valid as long as the bus runs: the bus does not reuse names,
/// and it records credentials when a process connects. Therefore, the credentials of the last
/// kMaxKnown callers are cached. Source: D-Bus specification, "Unique Connection Name" and
/// GetConnectionCredentials.
class Callers {
public:
    static constexpr std::size_t kMaxKnown = 1024;
    static constexpr std::size_t kMaxKnownGroups = 1024;  ///< a caller in more groups isn't cached

    explicit Callers(sdbus::IConnection& connection);
    ~Callers();

    /// The cached credentials of a sender; nullptr if credentials_of() must query the bus. Valid
    /// until the next call of any of these functions.
    [[nodiscard]] const Credentials* known(const std::string& sender);
    /// Number of calls from a sender that wait for the bus.
    [[nodiscard]] std::size_t waiting(const std::string& sender) const;
    [[nodiscard]] std::size_t waiting() const;  ///< number of waiting calls of all senders
    using Answer = std::function<void(const Result<Credentials>&)>;
    /// Queries the credentials and calls `answer` exactly once. The call happens later, unless the
    /// bus cannot be queried at all. Several requests for one name share a query. Errors,
    /// passed to `answer`: NotAuthorized if the bus does not know the name (the caller has left);
    /// Unavailable if the bus cannot be queried. If this object is destroyed first, `answer` is
    /// never called.
    void credentials_of(const std::string& sender, Answer answer);

private:
    struct Known {
        std::string sender = {};
        Credentials credentials = {};
    };
    void keep(const std::string& sender, const Credentials& credentials);

    void answer_all(const std::string& sender, const Result<Credentials>& credentials);

    std::list<Known> known_ = {};  ///< most recent caller first
    /// positions in known_
    std::unordered_map<std::string_view, std::list<Known>::iterator> place_ = {};
    std::map<std::string, std::vector<Answer>> asked_ = {};  ///< waiting requests, by sender
    std::unique_ptr<sdbus::IProxy> bus_;
};

/// Queue of refused calls, which are answered with a delay.
///
/// A client may keep as many calls pending as the bus allows, and send another call after each
/// reply. Refusing is so cheap that the client would keep the bus and the daemon busy if refusals
/// were sent immediately. The bus limits the number of pending replies per connection (128 on a
/// system bus; dbus-daemon(1), max_replies_per_connection). Delayed refusals therefore limit the
/// rate at which the client can send calls.
class Refusals {
public:
    static constexpr std::size_t kMax = 65'536;  ///< additional refusals are sent immediately
    /// Number of refusals that are sent after each pause.
    static constexpr std::size_t kAtOnce = 10;
    static constexpr Duration kPause = std::chrono::milliseconds{10};

    using Send =
        std::function<void(const std::string& sender, std::uint32_t serial, const Error& error)>;
    /// `may_send` is called before each refusal. Nothing is sent while `may_send` returns false.
    Refusals(EventLoop& loop, Send send, std::function<bool()> may_send)
        : loop_{loop}, send_{std::move(send)}, may_send_{std::move(may_send)} {}

    /// Schedules the refusal of a call with `error`.
    void add(const std::string& sender, std::uint32_t serial, const Error& error);
    [[nodiscard]] std::size_t size() const { return count_; }

private:
    struct Sender {
        /// the most recent error; all calls get this error
        Error error;
        /// serial numbers of the refused calls; never empty
        std::deque<std::uint32_t> serials = {};
    };
    void send_some();
    void send_next();

    EventLoop& loop_;
    Send send_;
    std::function<bool()> may_send_;
    std::map<std::string, Sender> waiting_ = {};
    std::size_t count_ = 0;  ///< number of serials in waiting_
    std::string last_ = {};  ///< the sender that was refused last
    EventHandle pause_ = {};
};

/// A call that sets a property to a string.
struct PropertyWrite {
    std::string sender = {};
    std::string interface = {};
    std::string property = {};
    std::string text = {};
};

/// The events and the time at which a connection must be processed.
struct PollWish {
    int fd = -1;
    std::uint32_t events = 0;  ///< events as for poll(2)
    /// absolute time; in the past if there is work now
    std::optional<MonotonicTime> deadline = {};
};

/// A connection to a bus, driven by the event loop. The connection handles only a few messages at a
/// time, so that event sources with a higher priority can run in between.
class Connection {
public:
    /// Connects to `where`: "system", "session" or a D-Bus address. Errors: Unavailable.
    static Result<std::unique_ptr<Connection>> open(const std::string& where, EventLoop& loop);
    ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    /// Requests a bus name. Errors: Unavailable if another process still owns the name after
    /// `patience`; NotAuthorized if the bus denies the name. The message contains the name and the
    /// reason.
    Status own_name(const std::string& name, Duration patience = {});
    [[nodiscard]] sdbus::IConnection& bus() { return *bus_; }
    [[nodiscard]] sd_bus* raw() { return raw_; }  ///< the connection, for calls of sd-bus

    /// Starts handling messages. If the connection is lost, calls `lost` once, from the loop;
    /// `lost` may destroy this object.
    void start(std::function<void(const std::string& reason)> lost);
    /// Registers a function that runs kUse after a message; messages in between do not cause
    /// another call.
    void on_use(std::function<void()> used) { used_ = std::move(used); }
    static constexpr Duration kUse = std::chrono::milliseconds{250};
    static constexpr int kMessagesPerTurn = 64;
    /// size limit of a call, the same as on the socket
    static constexpr Bytes kMaxCall = mib(2);
    /// after this time, no further message is handled in this turn
    static constexpr Duration kTurn = std::chrono::milliseconds{1};
    /// Registers two functions. `admit` checks the sender of each call before the rest of the call
    /// is read; the error that it returns is sent to the caller through Refusals. `handled`
    /// receives the time that each message took.
    void admit_by(std::function<Status(const std::string& sender)> admit,
                  std::function<void(Duration)> handled);
    /// Registers a function for property writes. The function runs before sd-bus handles the write,
    /// because on trusted connections sd-bus lets every caller write, and sd-bus trusts all
    /// connections except connections to the system bus. `decide` returns false to leave a call to
    /// sd-bus; otherwise it must call `done` once, possibly later.
    using WriteDone = std::function<void(const Status&)>;
    void on_write(std::function<bool(const PropertyWrite&, WriteDone done)> decide) {
        decide_write_ = std::move(decide);
    }
    /// Registers a function that runs when the bus has accepted everything that untaken() counted.
    void on_taken(std::function<void()> taken) { taken_ = std::move(taken); }
    /// Registers a function that runs before messages are read.
    void before_reading(std::function<void()> turn) { turn_ = std::move(turn); }
    /// Number of outgoing messages that the bus has not accepted yet.
    [[nodiscard]] std::size_t untaken() const;
    /// Whether there is a message to handle.
    [[nodiscard]] bool has_input() const;
    /// Must be called after sending a message outside of a bus handler; does nothing inside of a
    /// handler.
    void update();
    /// Approximate size in bytes of the call that is being handled: its strings, plus 16 bytes for
    /// each value.
    [[nodiscard]] std::size_t call_size() const { return call_size_; }
    /// The types and values of the arguments of the call that is being handled. Two calls have the
    /// same key only if their arguments are the same. nullopt if the arguments are malformed, or
    /// longer than kMaxKey.
    [[nodiscard]] const std::optional<std::string>& call_key() const { return call_key_; }
    static constexpr Bytes kMaxKey = kib(4);
    /// Whether any message has been read. Before the first message, no client has seen any object.
    [[nodiscard]] bool has_read() const { return has_read_; }
    /// Whether the bus isn't accepting our messages at the moment.
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
    sd_bus* raw_;  ///< the sd-bus connection, owned by bus_
    EventLoop& loop_;
    std::function<void(const std::string&)> lost_ = {};
    std::function<Status(const std::string&)> admit_ = {};
    std::function<void(Duration)> handled_ = {};
    std::function<bool(const PropertyWrite&, WriteDone)> decide_write_ = {};
    std::function<void()> taken_ = {};
    std::function<void()> turn_ = {};
    bool was_congested_ = false;
    bool has_read_ = false;
    bool is_stepping_ = false;  ///< whether step() is running, which calls update() at its end
    std::size_t call_size_ = 0;
    std::optional<std::string> call_key_ = {};
    Refusals refusals_;
    /// A duplicate of the bus connection's socket. sd-bus closes its own descriptor when the
    /// connection is lost, and the number of that descriptor may be reused before the watch ends.
    UniqueFd socket_ = {};
    EventHandle ready_ = {};
    std::uint32_t watched_ = 0;  ///< events that ready_ waits for
    EventHandle due_ = {};
    std::optional<MonotonicTime> due_at_ =
        {};  ///< time at which due_ runs; nullopt means immediately
    EventHandle loss_ = {};
    std::function<void()> used_ = {};
    EventHandle use_ = {};
};

}  // namespace gpuprobe::bus
