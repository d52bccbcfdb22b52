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
#include "service/answer_cache.h"
#include "service/authority.h"
#include "service/gpu_object.h"
#include "service/socket_connection.h"
#include "service/turns.h"

namespace gpuprobe::inline service {

/// The interface org.gpuprobe on a Unix socket, without a bus. A caller is whom the kernel says
/// connected (unix(7), SO_PEERCRED), and sees and may do what it could on the bus.
///
/// A known answer is sent while its call is read. All others wait for the turn of their user, so
/// that nobody waits for all calls of another user.
class SocketServer final : private SocketConnection::Owner {
public:
    static constexpr std::size_t kMaxConnections = 4096;  ///< of all but root, who has no limit
    static constexpr Bytes kMaxHeldPerUid = mib(16);      ///< unfinished calls and unread answers
    static constexpr std::size_t kMaxRunning = 64;        ///< costly calls
    static constexpr std::size_t kMaxRunningPerUid = 8;
    static constexpr Bytes kMaxKept = kib(256);  ///< larger answers are made anew
    static constexpr Duration kUse = std::chrono::seconds{2};

    /// `authority`: whom polkit can be asked by now; null without a bus. All outlive this.
    SocketServer(EventLoop& loop,
                 const ServiceContext& context,
                 std::function<Authority*()> authority);
    ~SocketServer() override;

    /// Listens at `path`, in the place of what is there. Errors: Io.
    Status listen(const std::string& path);
    /// Listens on a socket that somebody else has bound. Errors: Internal.
    Status adopt(UniqueFd listening);
    /// To be called when the report has changed, or what decides about it.
    void update();
    /// Sets what to call kUse after a call came or a client went, once for all that come meanwhile.
    void on_use(std::function<void()> used) { used_ = std::move(used); }

private:
    using Connection =
        std::shared_ptr<SocketConnection>;  // an answer may come after its client left

    /// A connection, and which answers its caller shares with others.
    struct Client {
        Connection connection = {};
        Caller caller = {};
        std::string access = {};
        std::uint64_t age = 0;  ///< of the report that `access` rests on
    };
    /// What one user has.
    struct Account {
        std::set<std::uint64_t> connections = {};  ///< ids, the oldest first
        std::size_t held_bytes = 0;
        std::size_t running = 0;  ///< costly calls
    };
    /// One call that waits for its turn.
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
    [[nodiscard]] bool make_room_for(uid_t uid);
    [[nodiscard]] bool take_from_whoever_has_most(std::size_t kept);
    void serve(const Waiting& waiting);
    /// One call on its way to an answer.
    struct Asked {
        std::weak_ptr<SocketConnection> connection;
        MethodCall call = {};
        MethodTraits traits = {};
        bool wants_answer = true;
        std::string question = {};  ///< what the message held
    };
    void run(const std::shared_ptr<Asked>& asked);
    void reply_to(const std::shared_ptr<Asked>& asked);
    void heard(const Asked& asked, const MethodAnswer& answer, bool may_keep);
    [[nodiscard]] Status take_costs(const Asked& asked);
    void give_back_costs(const Asked& asked);
    void forget_older();
    [[nodiscard]] std::string key_of(std::uint64_t client, std::string_view message);
    void sweep();
    void was_used();
    void close_the_overdue();

    EventLoop& loop_;
    const ServiceContext& context_;
    std::function<Authority*()> authority_;
    ReportViews views_;
    Turns turns_;
    AnswerCache<SharedText> answers_ = {};
    std::uint64_t generation_ = 0;          ///< of the report that answers_ rest on
    std::optional<WallTime> created_ = {};  ///< likewise
    std::uint64_t age_ = 1;                 ///< counts these reports
    UniqueFd listening_ = {};
    EventHandle ready_ = {};
    EventHandle pause_ = {};
    std::uint64_t last_id_ = 0;
    std::unordered_map<std::uint64_t, Client> clients_ = {};
    /// Of all connections. The event loop looks at everything that is ready before it runs one of
    /// them: with 500 clients an answer took 70 µs instead of 15.
    UniqueFd poll_ = {};
    EventHandle polled_ = {};
    std::map<std::uint64_t, std::size_t> held_ = {};  ///< bytes, by connection, that are not 0
    std::map<uid_t, Account> accounts_ = {};
    std::size_t max_connections_;
    std::size_t connections_ = 0;  ///< of all but root
    std::vector<std::uint64_t> closed_ = {};
    std::vector<std::uint64_t> subscribers_ = {};
    EventHandle sweep_ = {};
    EventHandle overdue_ = {};
    EventHandle use_ = {};
    std::function<void()> used_ = {};
    std::size_t running_ = 0;  ///< costly calls
    /// Answers of the engine may come when this has gone.
    std::shared_ptr<SocketServer*> self_;
};

}  // namespace gpuprobe::inline service
