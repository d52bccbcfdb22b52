// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "calls/methods.h"
#include "service/admission.h"
#include "service/bus_objects.h"
#include "service/caller_access.h"
#include "service/fair_queue.h"
#include "service/socket_connection.h"

namespace gpuprobe::inline service {

/// The Varlink interface org.gpuprobe on a Unix socket, which works without a bus. The kernel
/// identifies callers (unix(7), SO_PEERCRED). Callers have the same rights as on the bus.
///
/// A cached answer is sent as soon as its call is read. All other calls wait in a FairQueue.
/// Clients share the limits of Admission with callers on the bus.
class SocketServer final : private SocketConnection::Owner {
public:
    /// connections of all users together, except root
    static constexpr std::size_t kMaxConnections = 4096;
    /// If there are more connections, each connection gets a smaller send buffer in the kernel.
    static constexpr std::size_t kMaxRoomy = 64;
    /// If strangers use all connections reserved for them, a stranger's connection that was unused
    /// for this time is closed in favor of a new stranger.
    static constexpr Duration kIdle = std::chrono::seconds{1};
    /// if a caller has more groups, the caller's groups are treated as unknown
    static constexpr std::size_t kMaxGroups = 1024;
    static constexpr Duration kUse = std::chrono::seconds{2};  ///< delay of on_use()

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
    /// Sets a callback that runs kUse after a call has arrived or a client has left. The callback
    /// runs once for all such events within this time.
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
