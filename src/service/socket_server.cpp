// SPDX-License-Identifier: Apache-2.0
#include "service/socket_server.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/files.h"
#include "base/process.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5, include/uapi/asm-generic/socket.h
#endif

namespace gpuprobe::inline service {

// Connections ------------------------------------------------------------------------------------

SocketConnection::SocketConnection(
    std::uint64_t id, UniqueFd socket, bus::Credentials peer, EventLoop& loop, Owner& owner)
    : id_{id},
      socket_{std::move(socket)},
      peer_{std::move(peer)},
      loop_{loop},
      owner_{owner},
      since_{loop.now()} {}

std::size_t SocketConnection::held_bytes() const {
    if (!is_open())
        return 0;
    // Amounts up to kSmall aren't counted, so that ordinary calls need no accounting.
    auto held = input_.memory() > kSmall.count ? input_.memory() : 0;
    held += is_called_ ? call_size_ : 0;
    if (peer_.groups && peer_.groups->size() * sizeof(gid_t) > kSmall.count)
        held += peer_.groups->size() * sizeof(gid_t);
    for (const auto* text : {&output_, &waiting_})
        if (*text && !(*text)->is_kept && (*text)->bytes.size() > kSmall.count)
            held += (*text)->bytes.size();
    return held;
}

bool SocketConnection::is_overdue(MonotonicTime now) const {
    // The connection waits for the client to read, or for the rest of an incomplete message.
    if (output_ || is_ending_)
        return now - since_ >= kPatienceForReader;
    return !is_called_ && input_.size() > 0 && now - since_ >= kPatienceForMessage;
}

void SocketConnection::send(SharedText text, bool is_last) {
    if (!is_open() || !is_called_ || is_ending_)  // the answer comes too late
        return;
    is_called_ = !is_last;
    if (output_) {
        waiting_ = std::move(text);
    } else {
        output_ = std::move(text);
        written_ = 0;
        since_ = loop_.now();
        write_on();
    }
}

void SocketConnection::finish() {
    is_called_ = false;
    await_next();
}

void SocketConnection::close_with(const SharedText& text) {
    if (is_open() && !output_)
        (void)::send(socket_.get(), text->bytes.data(), text->bytes.size(),
                     MSG_DONTWAIT | MSG_NOSIGNAL);
    close();
}

/// Whether the client has not read everything that was sent. Source: unix(7), SIOCOUTQ.
bool SocketConnection::has_unread() const {
    int bytes = 0;
    return ::ioctl(socket_.get(), SIOCOUTQ, &bytes) == 0 && bytes > 0;
}

void SocketConnection::end_with(const SharedText& text) {
    if (!is_open() || !has_unread())
        return close_with(text);
    // Keep only the socket: the client reaches the end of the stream after it has read the earlier
    // answers.
    is_ending_ = true;
    input_ = {};
    output_ = waiting_ = nullptr;
    since_ = loop_.now();
    (void)::shutdown(socket_.get(), SHUT_WR);
    watch();
}

void SocketConnection::close() {
    if (!is_open())
        return;
    next_.reset();
    socket_.reset();
    owner_.closed(*this);
}

void SocketConnection::ready(std::uint32_t events) {
    if ((events & EPOLLOUT) != 0)
        write_on();
    // Input that arrives during a call stays in the kernel; watch() removes EPOLLIN until then.
    if (is_open() && (events & EPOLLIN) != 0)
        is_called_ || output_ || next_ || is_ending_ ? watch() : read();
    else if (is_open() && (events & (EPOLLERR | EPOLLHUP)) != 0)
        close();
}

void SocketConnection::read() {
    std::array<char, 65536> block;  // not initialized: only the bytes that were read are used
    const auto got = ::recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (got <= 0)
        return close();      // end-of-file or an error
    if (input_.size() == 0)  // the time limit for a message starts with its first byte
        since_ = loop_.now();
    if (!input_.add({block.data(), static_cast<std::size_t>(got)})) {
        static const auto refusal = std::make_shared<const Text>(
            Text{varlink::reply("org.gpuprobe.TooLarge",
                                R"({"name":"org.gpuprobe.GpuProbe1.Error.TooLarge",)"
                                R"("message":"a call is larger than 2 MiB","candidates":[]})",
                                false)});
        return end_with(refusal);
    }
    take_next();
}

/// Handles only one of the calls that were read, so that calls of other clients are handled in
/// between.
void SocketConnection::take_next() {
    next_.reset();
    const auto message = input_.next();
    if (message) {
        is_called_ = true;
        call_size_ = message->size() > kSmall.count ? message->size() : 0;
        owner_.called(*this, *message);  // may close the connection
        input_.release();
    }
    if (is_open())
        owner_.changed(*this);
}

/// After a call, schedules the next call that has already been read, or waits for input.
void SocketConnection::await_next() {
    if (!is_open() || is_called_ || output_ || is_ending_)
        return;
    if (input_.size() > 0 && !next_)
        next_ = loop_.defer([this] { take_next(); });
    watch();
}

bool SocketConnection::write(const std::string& text) {
    const auto sent = ::send(socket_.get(), text.data() + written_, text.size() - written_,
                             MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0) {
        written_ += static_cast<std::size_t>(sent);
        since_ = loop_.now();
    }
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        close();
    return is_open() && written_ == text.size();
}

/// Writes the current answer and then the queued answer, until the socket accepts no more data.
void SocketConnection::write_on() {
    while (output_) {
        if (!write(output_->bytes)) {
            if (is_open())
                watch();
            return;
        }
        output_ = std::exchange(waiting_, nullptr);
        written_ = 0;
    }
    if (is_open())
        owner_.changed(*this);
    await_next();
}

/// Requests the events for the current state. While a call is being answered, nothing is read;
/// epoll reports a hang-up even without any requested event.
void SocketConnection::watch() {
    std::uint32_t wanted = output_ ? EPOLLOUT : 0U;
    if (!output_ && !is_called_ && !next_ && !is_ending_)
        wanted |= EPOLLIN;
    if (watched_ == wanted)
        return;
    const bool is_first = !watched_;
    watched_ = wanted;
    if (!owner_.watch(*this, wanted, is_first))
        close();
}

// The server -------------------------------------------------------------------------------------

namespace {

constexpr int kAcceptedAtOnce = 32;
constexpr int kServedAtOnce = 16;
constexpr auto kPause = std::chrono::milliseconds{100};
constexpr auto kLook = std::chrono::seconds{10};  // interval of close_the_overdue()
constexpr mode_t kForEverybody = 0666;

/// The peer's supplementary groups and its primary group; nullopt for more than kMaxGroups, which
/// would take a long time to copy. Source: unix(7), SO_PEERGROUPS.
std::optional<std::vector<std::uint32_t>> groups_of(int socket) {
    std::vector<std::uint32_t> groups(SocketServer::kMaxGroups);
    auto size = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    ucred peer{};
    socklen_t peer_size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &size) != 0 ||
        ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &peer_size) != 0)
        return std::nullopt;
    groups.resize(size / sizeof(gid_t));
    groups.push_back(peer.gid);
    groups.shrink_to_fit();
    return groups;
}

/// The peer's uid and pid at the time when it connected, in this process's user namespace; without
/// groups. Errors: Internal.
Result<bus::Credentials> peer_of(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return errno_error("SO_PEERCRED", errno);
    return bus::Credentials{.uid = peer.uid, .pid = peer.pid};
}

/// A pidfd of the process that connected; null before Linux 6.5.
std::shared_ptr<const UniqueFd> process_of(int socket) {
    int process = -1;
    socklen_t size = sizeof process;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &process, &size) != 0)
        return nullptr;
    return std::make_shared<const UniqueFd>(process);
}

/// The answer as a Varlink message.
SharedText text_of(const MethodAnswer& answer) {
    return std::make_shared<const Text>(
        Text{varlink::reply(answer.error, answer.document, answer.continues)});
}

/// The number of connections to allow: half of the available descriptors, because the daemon also
/// needs descriptors for other purposes. Raises the soft limit first: systemd's default is 1,024
/// descriptors, for the sake of programs that use select(2).
std::size_t allowed_connections() {
    constexpr rlim_t kWanted = 2 * SocketServer::kMaxConnections;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return SocketServer::kMaxConnections;
    const rlimit wanted{.rlim_cur = std::min(limit.rlim_max, kWanted), .rlim_max = limit.rlim_max};
    if (limit.rlim_cur < wanted.rlim_cur && ::setrlimit(RLIMIT_NOFILE, &wanted) == 0)
        limit = wanted;
    return std::min<rlim_t>(limit.rlim_cur / 2, SocketServer::kMaxConnections);
}

/// The limits on connections; one payer gets at most half.
SharedPool::Limits limits_of(std::size_t connections) {
    return {.all = connections, .one = connections / 2, .root = connections / 4};
}

/// Send buffer sizes in bytes; the kernel doubles them. Unread answers in the buffer count as the
/// daemon's memory until the client reads them or leaves. Source: socket(7), SO_SNDBUF.
constexpr int kRoomyBuffer = 64 * 1024;
constexpr int kSmallBuffer = 4 * 1024;

void set_send_buffer(int socket, int bytes) {
    (void)::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/// Whether the client has closed its end without sending anything. Programs that only connect and
/// close can fill the queue of pending connections, so their connections are closed early.
bool has_left(int socket) {
    char first = 0;
    return ::recv(socket, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

// Two fixed refusals, encoded once because many clients may get them.

const SharedText& too_many() {
    static const auto refusal =
        text_of(refusal_of({ErrorCode::TooManyRequests, "too many connections from this user"}));
    return refusal;
}

const SharedText& too_much() {
    static const auto refusal = text_of(refusal_of(
        {ErrorCode::TooManyRequests, "too many bytes of this user's calls are unfinished"}));
    return refusal;
}

const sockaddr* plain(const sockaddr_un& address) {
    return reinterpret_cast<const sockaddr*>(&address);
}

UniqueFd new_socket() {
    return UniqueFd{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
}

/// The errno of an attempt to connect; 0 if a daemon listens there.
int visit(const sockaddr_un& address) {
    const auto socket = new_socket();
    return ::connect(socket.get(), plain(address), sizeof address) == 0 ? 0 : errno;
}

}  // namespace

SocketServer::SocketServer(EventLoop& loop,
                           CallServer& server,
                           std::function<Authority*()> authority)
    : loop_{loop},
      server_{server},
      authority_{std::move(authority)},
      queue_{loop, [] {}, [] { return false; }, [] { return std::size_t{0}; }},
      connections_{limits_of(allowed_connections())},
      self_{std::make_shared<SocketServer*>(this)} {}

SocketServer::~SocketServer() {
    self_.reset();
}

Status SocketServer::listen(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        return Error{ErrorCode::InvalidRequest, path + ": not a valid socket path"};
    path.copy(address.sun_path, path.size());
    // A daemon that is just being replaced may listen for another moment.
    int problem = 0;
    if (!succeeds_within(kAfterPredecessor, [&] { return (problem = visit(address)) != 0; }))
        return Error{ErrorCode::Unavailable, path + ": another daemon listens on this socket"};
    if (problem == ECONNREFUSED)
        (void)::unlink(path.c_str());  // left by an old daemon; if unlink() fails, so does bind()
    UniqueFd socket = new_socket();
    if (!socket)
        return errno_error("socket", errno);
    if (::bind(socket.get(), plain(address), sizeof address) != 0)
        return errno_error(path, errno);
    if (::chmod(path.c_str(), kForEverybody) != 0)
        return errno_error(path, errno);
    return adopt(std::move(socket));
}

Status SocketServer::adopt(UniqueFd listening) {
    if (::fcntl(listening.get(), F_SETFL, O_NONBLOCK) != 0 ||
        ::listen(listening.get(), SOMAXCONN) != 0)
        return errno_error("listen", errno);
    listening_ = std::move(listening);
    // One epoll watches all clients; the event loop watches this epoll.
    poll_.reset(::epoll_create1(EPOLL_CLOEXEC));
    if (!poll_)
        return errno_error("epoll", errno);
    polled_ = loop_.watch(poll_.get(), EPOLLIN, EventLoop::Priority::Normal,
                          [this](std::uint32_t) { serve_ready(); });
    if (!polled_)
        return Error{ErrorCode::Internal, "the clients cannot be watched"};
    return await_clients();
}

/// Watches the listening socket; also called again after a pause.
Status SocketServer::await_clients() {
    pause_.reset();
    ready_ = loop_.watch(listening_.get(), EPOLLIN, EventLoop::Priority::Normal,
                         [this](std::uint32_t) { accept_some(); });
    if (!ready_)
        return Error{ErrorCode::Internal, "the socket cannot be watched"};
    return Done{};
}

// Connections ------------------------------------------------------------------------------------

bool SocketServer::watch(SocketConnection& connection, std::uint32_t events, bool is_first) {
    epoll_event event{.events = events, .data = {.u64 = connection.id()}};
    return ::epoll_ctl(poll_.get(), is_first ? EPOLL_CTL_ADD : EPOLL_CTL_MOD,
                       connection.descriptor(), &event) == 0;
}

/// Serves a few clients that are ready. The next time, the kernel returns other clients first.
void SocketServer::serve_ready() {
    // Fast path: a single idle client must be the ready one, so skip epoll_wait.
    if (clients_.size() == 1 && clients_.begin()->second.connection->awaits_input())
        return clients_.begin()->second.connection->ready(EPOLLIN);
    std::array<epoll_event, kServedAtOnce> events{};
    const auto ready = ::epoll_wait(poll_.get(), events.data(), kServedAtOnce, 0);
    for (int i = 0; i < ready; ++i) {
        const auto& event = events[static_cast<std::size_t>(i)];
        const auto found = clients_.find(event.data.u64);
        if (found != clients_.end() && found->second.connection->is_open())
            found->second.connection->ready(event.events);
    }
}

void SocketServer::accept_some() {
    for (int i = 0; i < kAcceptedAtOnce; ++i)
        if (!accept_one())
            return;
}

/// Accepts or refuses one connection. Returns false if no more connections are pending or if
/// accepting has to pause.
bool SocketServer::accept_one() {
    UniqueFd socket{::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
    if (!socket) {
        const bool is_short = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
        // Descriptors or memory are used up: the listening socket would stay ready, and the loop
        // would do nothing else. Stop watching the listening socket for a while.
        if (is_short) {
            ready_.reset();
            pause_ = loop_.after(kPause, [this] { (void)await_clients(); });
        }
        return !is_short && errno == ECONNABORTED;
    }
    auto peer = peer_of(socket.get());
    if (!peer || has_left(socket.get()))
        return true;
    const auto payer = server_.admission().payers.of(peer->uid);
    if (!make_room_for(payer)) {
        const auto& refusal = too_many()->bytes;
        (void)::send(socket.get(), refusal.data(), refusal.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        return true;
    }
    // Register the client before start(), because start() may already call back.
    const auto id = ++last_id_;
    ids_[payer.id].insert(id);
    connections_.take(payer);
    set_send_buffer(socket.get(), connections_.total() > kMaxRoomy ? kSmallBuffer : kRoomyBuffer);
    SocketConnection::Owner& owner = *this;
    clients_.emplace(id, Client{.connection = std::make_shared<SocketConnection>(
                                    id, std::move(socket), std::move(peer).value(), loop_, owner),
                                .payer = payer});
    clients_.at(id).connection->start();
    return true;
}

/// Whether `payer` may have another connection. If necessary, closes connections of other payers
/// first.
bool SocketServer::make_room_for(const Payer& payer) {
    for (;;) {
        const auto offer = connections_.offer(payer);
        if (offer.is_accepted)
            return true;
        // Close the newest connection of the payer that has to give back a connection.
        if (!offer.holder)
            return connections_.held_by(payer.id) == 0 && close_idle_stranger();
        clients_.at(*ids_.at(*offer.holder).rbegin()).connection->close_with(too_many());
    }
}

/// Closes the strangers' connection that was idle for longest (at least kIdle), to make space for a
/// stranger who has no connection yet. Iterates over all clients, so it does not run for every
/// attempt if many strangers connect at the same time.
bool SocketServer::close_idle_stranger() {
    constexpr Duration kPauseBetweenLooks = std::chrono::milliseconds{10};
    const auto now = loop_.now();
    if (now - looked_for_idle_ < kPauseBetweenLooks)
        return false;
    looked_for_idle_ = now;
    SocketConnection* idle = nullptr;
    for (const auto& [id, client] : clients_)
        if (client.payer.standing == Standing::Stranger &&
            client.connection->idle_time() >= kIdle &&
            (!idle || client.connection->idle_time() > idle->idle_time()))
            idle = client.connection.get();
    if (idle)
        idle->close_with(too_many());
    return idle != nullptr;
}

/// Whether `payer` may use that much additional memory. If necessary, repeatedly closes the largest
/// connection of the payer that uses the most memory.
bool SocketServer::make_memory_for(const Payer& payer, std::size_t bytes) {
    auto& memory = server_.admission().memory;
    const auto held = [this](std::uint64_t id) { return clients_.at(id).held; };
    for (;;) {
        const auto offer = memory.offer(payer, bytes);
        const auto ids = offer.holder ? ids_.find(*offer.holder) : ids_.end();
        if (offer.is_accepted || ids == ids_.end())  // a holder on the bus can't be disconnected
            return offer.is_accepted;
        const auto largest = std::ranges::max_element(ids->second, {}, held);
        if (held(*largest) == 0)
            return false;
        clients_.at(*largest).connection->close_with(too_much());
    }
}

/// Charges the change in memory use to the client's payer.
void SocketServer::set_held(Client& client, std::size_t bytes) {
    auto& memory = server_.admission().memory;
    holding_ += (bytes > 0 ? 1 : 0);
    holding_ -= (client.held > 0 ? 1 : 0);
    if (bytes > client.held)
        memory.take(client.payer, bytes - client.held);
    else
        memory.give_back(client.payer, client.held - bytes);
    client.held = bytes;
}

void SocketServer::changed(SocketConnection& connection) {
    if (!connection.is_open())
        return;
    auto& client = clients_.at(connection.id());
    const auto now = connection.held_bytes();
    if (now == client.held)
        return;
    if (now > client.held && !make_memory_for(client.payer, now - client.held))
        return connection.end_with(too_much());
    // make_memory_for() may have closed this connection.
    if (!connection.is_open())
        return;
    set_held(client, now);
    if (now > 0 && !overdue_)
        overdue_ = loop_.after(kLook, [this] { close_the_overdue(); });
}

/// Runs every kLook while any client holds memory.
void SocketServer::close_the_overdue() {
    overdue_.reset();
    const auto now = loop_.now();
    for (const auto& [id, client] : clients_)
        if (client.connection->is_open() && client.connection->is_overdue(now))
            client.connection->close();
    if (holding_ > 0)
        overdue_ = loop_.after(kLook, [this] { close_the_overdue(); });
}

void SocketServer::closed(SocketConnection& connection) {
    // Give back all resources now; only the objects are destroyed later.
    auto& client = clients_.at(connection.id());
    set_held(client, 0);
    connections_.give_back(client.payer);
    const auto ids = ids_.find(client.payer.id);
    ids->second.erase(connection.id());
    if (ids->second.empty())
        ids_.erase(ids);
    subscribers_.erase(connection.id());
    closed_.push_back(connection.id());
    if (!sweep_)  // deferred: functions of the connection are still on the stack
        sweep_ = loop_.defer([this] { sweep(); });
}

/// Destroys the closed connections.
void SocketServer::sweep() {
    sweep_.reset();
    for (const auto id : std::exchange(closed_, {}))
        clients_.erase(id);
    was_used();
}

/// Starts the timer for on_use() unless it is already running.
void SocketServer::was_used() {
    if (used_ && !use_)
        use_ = loop_.after(kUse, [this] {
            use_.reset();
            used_();
        });
}

// Calls ------------------------------------------------------------------------------------------
//
// called() → queue → serve() → CallServer → heard()

/// The caller's class, which depends on the report and is therefore computed again for each new
/// report.
const std::string& SocketServer::access_of(Client& client, std::uint64_t age) const {
    if (std::exchange(client.age, age) != age)
        client.access = access_class(server_.engine().report(), client.caller);
    return client.access;
}

/// Determines the caller's groups at the caller's first call.
void SocketServer::know_caller(SocketConnection& connection) {
    auto& client = clients_.at(connection.id());
    if (std::exchange(client.is_known, true))
        return;
    connection.know_groups(groups_of(connection.descriptor()));
    client.caller = {.uid = connection.peer().uid, .groups = connection.peer().groups};
}

void SocketServer::called(SocketConnection& connection, std::string_view message) {
    was_used();
    know_caller(connection);
    auto& client = clients_.at(connection.id());
    const auto& access = access_of(client, server_.refresh());
    if (const auto* known = server_.known(access, client.caller, message))
        return connection.send(std::get<SharedText>(*known), true);
    queue_.wait(client.payer, [this, waiting = Waiting{.connection = client.connection,
                                                       .message = std::string{message}}] {
        try {
            serve(waiting);
        } catch (const std::exception& problem) {
            if (const auto still = waiting.connection.lock())
                still->close_with(text_of(refusal_of({ErrorCode::Internal, problem.what()})));
        }
    });
}

/// Decodes a call and passes it on to be answered.
void SocketServer::serve(const Waiting& waiting) {
    const auto connection = waiting.connection.lock();
    if (!connection || !connection->is_open())
        return;
    auto call = varlink::call_from(waiting.message);
    if (!call)
        return connection->end_with(
            text_of(refusal_of({ErrorCode::InvalidRequest, "not a call: " + call.error().text})));
    const auto served = std::make_shared<ServedCall>();
    served->call = {.method = std::move(call->method),
                    .parameters = std::move(call->parameters),
                    .wants_more = call->more,
                    .uid = connection->peer().uid,
                    .groups = connection->peer().groups};
    served->question = waiting.message;
    served->is_wanted = [weak = waiting.connection] {
        const auto still = weak.lock();
        return still && still->is_open();
    };
    // An equal call may have been answered while this call was waiting.
    served->send_kept = [weak = waiting.connection](const AnswerCache::Answer& kept) {
        if (const auto still = weak.lock())
            still->send(std::get<SharedText>(kept), true);
    };
    const Asked asked{.connection = connection, .served = served, .wants_answer = !call->oneway};
    served->heard = [weak = std::weak_ptr{self_}, asked](const MethodAnswer& answer,
                                                         const std::string& key) {
        if (const auto self = weak.lock())
            (*self)->heard(asked, answer, key);
    };
    served->ask = [this, weak = std::weak_ptr{self_}, from = waiting.connection,
                   may_be_asked = call->may_be_asked](
                      const std::vector<Action>& needs,
                      const std::function<void(const Status&)>& done) {
        const auto asking = from.lock();
        if (weak.lock() && asking && asking->is_open())
            ask({.credentials = asking->peer(),
                 .process = process_of(asking->descriptor()),
                 .may_be_asked = may_be_asked},
                needs, done);
    };
    server_.serve(served);
}

/// Asks polkit for a decision about the process that connected.
void SocketServer::ask(const SocketRequester& who,
                       const std::vector<Action>& needs,
                       const std::function<void(const Status&)>& done) {
    if (Authority::is_trusted(who.credentials))
        return done(Done{});
    auto* const authority = authority_();
    if (!authority)
        return done(Authority::refused(needs.back()));
    // If the bus is lost in the meantime, the Authority drops the callback without calling it. The
    // last copy of is_decided is then destroyed without a decision, and its deleter sends the
    // error.
    const auto lost = [done](const bool* is_decided) {
        if (!*is_decided)
            done(Error{ErrorCode::Unavailable, "the connection to the bus was lost"});
        delete is_decided;
    };
    const std::shared_ptr<bool> is_decided{new bool{false}, lost};
    authority->ask_for_all(who, needs, [done, is_decided](const Status& may) {
        *is_decided = true;
        done(may);
    });
}

/// Sends an answer, and caches the answer if possible.
void SocketServer::heard(const Asked& asked, const MethodAnswer& answer, const std::string& key) {
    const auto connection = asked.connection.lock();
    if (!connection || !connection->is_open())
        return;
    const auto served = asked.served.lock();
    const bool subscribes = served && served->traits.subscribes;
    // A oneway call gets no answer, so a oneway subscription ends at once.
    if (!asked.wants_answer) {
        if (!answer.continues || subscribes) {
            connection->finish();
            changed(*connection);
        }
        return;
    }
    if (subscribes && answer.continues)
        subscribers_.insert(connection->id());
    const auto text = text_of(answer);
    if (!key.empty() && !answer.continues) {
        // An answer that the cache drops is charged to the clients that are still receiving it.
        // When many bytes were dropped, all connections are counted again.
        constexpr std::size_t kMaxDropped = mib(4).count;
        server_.keep(key, text, text->bytes.size());
        if (server_.answers().dropped() > kMaxDropped)
            count_again();
    }
    connection->send(text, !answer.continues);
    changed(*connection);
}

void SocketServer::count_again() {
    (void)server_.answers().take_dropped();
    for (const auto& [id, client] : clients_)  // changed() ignores closed clients
        changed(*client.connection);
}

void SocketServer::update() {
    count_again();  // cached answers were dropped
    if (subscribers_.empty())
        return;
    // All subscribers get the same message: the new generation and state.
    const auto text =
        text_of({.document = subscription_document(server_.engine().report()), .continues = true});
    // Use a copy, because a client that can't receive the message is removed from subscribers_.
    const auto receivers = subscribers_;
    for (const auto id : receivers) {
        const auto connection = clients_.at(id).connection;
        connection->send(text, false);
        if (connection->is_open())
            changed(*connection);
    }
}

}  // namespace gpuprobe::inline service
