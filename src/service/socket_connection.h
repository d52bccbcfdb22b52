// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/epoll.h>

#include "base/event_loop.h"
#include "base/files.h"
#include "service/call_server.h"
#include "wire/connection.h"
#include "wire/varlink.h"

namespace gpuprobe::inline service {

/// One client of the socket. Reads its calls one message at a time, and writes the answers as fast
/// as the client reads them. Never blocks.
class SocketConnection {
public:
    /// The interface of the server that answers the calls.
    class Owner {
    public:
        virtual ~Owner() = default;
        /// From now on, calls ready() if one of these epoll events occurs on the descriptor,
        /// replacing earlier events. `is_first`: nothing was watched before. False on failure.
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
    static constexpr Bytes kSmall = kib(1);  ///< smaller calls and answers are not counted

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
    /// answers that are not cached. Zero after the connection was closed.
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
    /// Sends as much of the text as the client can receive immediately, and closes.
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

}  // namespace gpuprobe::inline service
