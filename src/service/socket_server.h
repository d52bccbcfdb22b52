// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/epoll.h>

#include "base/event_loop.h"
#include "base/files.h"
#include "calls/methods.h"
#include "service/admission.h"
#include "service/authority.h"
#include "service/bus_objects.h"
#include "service/call_server.h"
#include "service/fair_queue.h"
#include "wire/connection.h"
#include "wire/varlink.h"

namespace gpuprobe::inline service {

/// One client of the socket. Reads the client's calls one message at a time, and writes the answers
/// as fast as the client reads them. Never blocks.
class SocketConnection {
public:
    /// The interface of the server that answers the calls.
    class Owner {
    public:
        virtual ~Owner() = default;
        /// From now on, calls ready() if one of these epoll events occurs on the descriptor; events
        /// that were watched before are replaced. `is_first`: nothing was watched before. False on
        /// failure.
        virtual bool watch(SocketConnection& connection, std::uint32_t events, bool is_first) = 0;
        /// A call has arrived. `message` is valid only during this function. The owner must answer
        /// with send(), eventually with a last answer, or with finish().
        virtual void called(SocketConnection& connection, std::string_view message) = 0;
        /// The value of held_bytes() may have changed.
        virtual void changed(SocketConnection& connection) = 0;
        /// The client has left or was disconnected. The owner may destroy the connection later, but
        /// not in this function.
        virtual void closed(SocketConnection& connection) = 0;
    };

    /// The time within which a message must be complete.
    static constexpr Duration kPatienceForMessage = std::chrono::seconds{30};
    /// The time within which the client must read a part of an answer.
    static constexpr Duration kPatienceForReader = std::chrono::minutes{5};
    static constexpr Bytes kSmall = kib(1);  ///< smaller calls and answers aren't counted

    /// `owner` must outlive the connection.
    SocketConnection(
        std::uint64_t id, UniqueFd socket, bus::Credentials peer, EventLoop& loop, Owner& owner);

    /// Starts reading. Call this once, after the owner has registered the connection.
    void start() { watch(); }
    [[nodiscard]] std::uint64_t id() const { return id_; }
    [[nodiscard]] int descriptor() const { return socket_.get(); }
    [[nodiscard]] const bus::Credentials& peer() const { return peer_; }
    /// Sets the groups that the peer had when it connected. The groups are determined at the first
    /// call, because many clients never call.
    void know_groups(std::optional<std::vector<std::uint32_t>> groups) {
        peer_.groups = std::move(groups);
    }
    [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
    /// Memory of this connection in bytes: the received part of unanswered calls, and unsent
    /// answers that aren't cached. Zero after the connection was closed.
    [[nodiscard]] std::size_t held_bytes() const;
    /// Time since the last read or write if the connection waits for the client's next call,
    /// otherwise zero.
    [[nodiscard]] Duration idle_time() const {
        return awaits_input() ? loop_.now() - since_ : Duration{};
    }
    /// Whether the client took longer than kPatienceForMessage or kPatienceForReader.
    [[nodiscard]] bool is_overdue(MonotonicTime now) const;

    /// Sends an answer. `is_last`: no more answers to this call follow. While an earlier answer is
    /// being written, only the latest answer is queued, because progress and states become
    /// outdated.
    void send(SharedText text, bool is_last);
    /// Ends a call without an answer.
    void finish();
    /// Sends as much of `text` as the client can receive immediately, and closes the connection.
    void close_with(const SharedText& text);
    /// Like close_with(), but for a client that caused the error itself. If the client has not read
    /// earlier answers, the connection is kept until the client closes it, because the kernel keeps
    /// the memory of these answers until then, and this memory should stay charged to the client.
    void end_with(const SharedText& text);
    void close();
    /// Whether the connection waits only for input from the client.
    [[nodiscard]] bool awaits_input() const { return is_open() && watched_ == EPOLLIN; }
    /// Handles events that were requested with Owner::watch().
    void ready(std::uint32_t events);

private:
    void read();
    void take_next();
    void await_next();
    /// Writes as much as possible. Returns true if the whole text has been written.
    bool write(const std::string& text);
    void write_on();
    [[nodiscard]] bool has_unread() const;
    void watch();

    std::uint64_t id_;
    UniqueFd socket_;
    bus::Credentials peer_;
    EventLoop& loop_;
    Owner& owner_;
    varlink::MessageReader input_ = {};
    SharedText output_ = {};  ///< the answer that is being written
    std::size_t written_ = 0;
    SharedText waiting_ = {};    ///< the answer to write next
    bool is_ending_ = false;     ///< whether end_with() was called; if so, input is ignored
    bool is_called_ = false;     ///< whether a call is waiting for its last answer
    std::size_t call_size_ = 0;  ///< size of the call that is being answered
    MonotonicTime since_ = {};   ///< time of the last progress
    std::optional<std::uint32_t> watched_ = {};  ///< the requested epoll events
    EventHandle next_ = {};
};

/// The Varlink interface org.gpuprobe on a Unix socket, which works without a bus. The kernel
/// identifies callers (unix(7), SO_PEERCRED). Callers have the same rights as on the bus.
///
/// A cached answer is sent as soon as its call is read. All other calls wait in a FairQueue.
/// Clients share the limits of Admission with callers on the bus.
class SocketServer final : private SocketConnection::Owner {
public:
    /// maximum number of connections of all users together, except root
    static constexpr std::size_t kMaxConnections = 4096;
    /// If there are more connections than this, each connection gets a smaller send buffer in the
    /// kernel.
    static constexpr std::size_t kMaxRoomy = 64;
    /// If strangers use all connections reserved for them, a stranger's connection that was unused
    /// for this long is closed in favor of a new stranger.
    static constexpr Duration kIdle = std::chrono::seconds{1};
    /// if a caller has more groups, the caller's groups are treated as unknown
    static constexpr std::size_t kMaxGroups = 1024;
    static constexpr Duration kUse = std::chrono::milliseconds{250};  ///< delay of on_use()

    /// `authority`: returns the current polkit client; null without a bus. All arguments must
    /// outlive this object.
    SocketServer(EventLoop& loop, CallServer& server, std::function<Authority*()> authority);
    ~SocketServer() override;

    /// Creates a socket at `path` and listens; replaces the socket of a daemon that has ended.
    /// Errors: Io; InvalidRequest for an unsuitable path; Unavailable if another daemon listens.
    Status listen(const std::string& path);
    /// Listens on a socket that is already bound. Errors: Io, Internal.
    Status adopt(UniqueFd listening);
    /// Call this when the report or the data behind decisions has changed.
    void update();
    /// Sets a callback that runs kUse after a call has arrived or a client has left. All calls and
    /// departures within this time cause only one run of the callback.
    void on_use(std::function<void()> used) { used_ = std::move(used); }

private:
    using Connection =
        std::shared_ptr<SocketConnection>;  // an answer may arrive after the client left

    /// A connection with its caller, and with the class of callers who share answers.
    struct Client {
        Connection connection = {};
        Caller caller = {};
        bool is_known = false;  ///< whether `caller` is set
        Payer payer = {};
        std::size_t held = 0;     ///< bytes that were last charged, from held_bytes()
        std::string access = {};  ///< class of the caller, from access_class()
        std::uint64_t age = 0;    ///< the report's number when `access` was computed
    };
    /// A call in the queue.
    struct Waiting {
        std::weak_ptr<SocketConnection> connection;
        std::string message = {};
    };

    bool watch(SocketConnection& connection, std::uint32_t events, bool is_first) override;
    void called(SocketConnection& connection, std::string_view message) override;
    void changed(SocketConnection& connection) override;
    void closed(SocketConnection& connection) override;

    Status await_clients();
    void serve_ready();
    void accept_some();
    bool accept_one();
    [[nodiscard]] bool make_room_for(const Payer& payer);
    [[nodiscard]] bool close_idle_stranger();
    [[nodiscard]] bool make_memory_for(const Payer& payer, std::size_t bytes);
    void set_held(Client& client, std::size_t bytes);
    void know_caller(SocketConnection& connection);
    void count_again();
    void serve(const Waiting& waiting);
    /// A call that is being answered, and whether the client wants an answer.
    struct Asked {
        std::weak_ptr<SocketConnection> connection;
        std::weak_ptr<const ServedCall> served = {};
        bool wants_answer = true;
    };
    void ask(const SocketRequester& who,
             const std::vector<Action>& needs,
             const std::function<void(const Status&)>& done);
    void heard(const Asked& asked, const MethodAnswer& answer, const std::string& key);
    [[nodiscard]] const std::string& access_of(Client& client, std::uint64_t age) const;
    void sweep();
    void was_used();
    void close_the_overdue();

    EventLoop& loop_;
    CallServer& server_;
    std::function<Authority*()> authority_;
    FairQueue queue_;
    UniqueFd listening_ = {};
    EventHandle ready_ = {};
    EventHandle pause_ = {};
    std::uint64_t last_id_ = 0;
    std::unordered_map<std::uint64_t, Client> clients_ = {};
    /// A separate epoll for all connections. With a single epoll, the event loop would examine all
    /// connections that are ready before it handles one event: with 500 clients, an answer took 70
    /// µs instead of 15 µs.
    UniqueFd poll_ = {};
    EventHandle polled_ = {};
    std::size_t holding_ = 0;  ///< number of clients with Client::held above zero
    SharedPool connections_;
    std::map<uid_t, std::set<std::uint64_t>> ids_ = {};  ///< ids of connections, by payer
    MonotonicTime looked_for_idle_ = {};
    std::vector<std::uint64_t> closed_ = {};  ///< ids of closed connections, erased by sweep()
    std::set<std::uint64_t> subscribers_ = {};
    EventHandle sweep_ = {};
    EventHandle overdue_ = {};
    EventHandle use_ = {};
    std::function<void()> used_ = {};
    /// Callbacks hold a weak pointer to this member, because the engine may answer after this
    /// object was destroyed.
    std::shared_ptr<SocketServer*> self_;
};

}  // namespace gpuprobe::inline service
