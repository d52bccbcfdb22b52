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
#include "service/answer_cache.h"
#include "service/authority.h"
#include "service/fair_queue.h"
#include "service/gpu_object.h"
#include "service/socket_connection.h"

namespace gpuprobe::inline service {

/// The interface org.gpuprobe on a Unix socket, without a bus. A caller is whom the kernel says
/// connected (unix(7), SO_PEERCRED), and sees and may do what it could on the bus.
///
/// A known answer is sent while its call is read. All others wait in a FairQueue. What its clients
/// may use is Admission's to say, together with callers on the bus.
class SocketServer final : private SocketConnection::Owner {
public:
    static constexpr std::size_t kMaxConnections = 4096;  ///< of all but root
    /// With more connections, the kernel keeps less of unread answers for each of them.
    static constexpr std::size_t kMaxRoomy = 64;
    /// When strangers have all places, the connection of a stranger that has not been used for so
    /// long is closed for another stranger.
    static constexpr Duration kIdle = std::chrono::seconds{1};
    static constexpr std::size_t kMaxGroups = 1024;  ///< of a caller; with more they are not known
    static constexpr Bytes kMaxKept = kib(256);      ///< larger answers are made anew
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
        bool is_known = false;  ///< whether caller is
        Payer payer = {};
        std::size_t held = 0;  ///< its connection's held_bytes(), as they were counted last
        std::string access = {};
        std::uint64_t age = 0;  ///< of the report that `access` rests on
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
    [[nodiscard]] bool make_room_for(const Payer& payer);
    [[nodiscard]] bool close_idle_stranger();
    [[nodiscard]] bool make_memory_for(const Payer& payer, std::size_t bytes);
    void set_held(Client& client, std::size_t bytes);
    void know_caller(SocketConnection& connection);
    void keep(std::string key, const SharedText& text);
    void count_again();
    void serve(const Waiting& waiting);
    /// One call on its way to an answer.
    struct Asked {
        std::weak_ptr<SocketConnection> connection;
        MethodCall call = {};
        MethodTraits traits = {};
        bool wants_answer = true;
        std::string question = {};  ///< what the message held
        SharedPool::Claim share = {};
    };
    void run(const std::shared_ptr<Asked>& asked);
    void reply_to(const std::shared_ptr<Asked>& asked);
    void heard(const Asked& asked, const MethodAnswer& answer, bool may_keep);
    [[nodiscard]] Status take_costs(Asked& asked);
    void forget_older();
    [[nodiscard]] std::string key_of(std::uint64_t client, std::string_view message);
    void sweep();
    void was_used();
    void close_the_overdue();

    EventLoop& loop_;
    const ServiceContext& context_;
    std::function<Authority*()> authority_;
    ReportViews views_;
    FairQueue queue_;
    AnswerCache<SharedText> answers_{[this](const SharedText& text) {
        text->is_kept = false;
        dropped_ += text.use_count() > 1 ? text->bytes.size() : 0;
    }};
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
    std::size_t holding_ = 0;  ///< clients whose connections hold something
    SharedPool connections_;
    std::map<uid_t, std::set<std::uint64_t>> ids_ = {};  ///< of connections, by payer
    MonotonicTime looked_for_idle_ = {};
    std::vector<std::uint64_t> closed_ = {};
    std::set<std::uint64_t> subscribers_ = {};
    std::size_t dropped_ = 0;  ///< bytes that the cache dropped and clients may still be sent
    EventHandle sweep_ = {};
    EventHandle overdue_ = {};
    EventHandle use_ = {};
    std::function<void()> used_ = {};
    /// Answers of the engine may come when this has gone.
    std::shared_ptr<SocketServer*> self_;
};

}  // namespace gpuprobe::inline service
