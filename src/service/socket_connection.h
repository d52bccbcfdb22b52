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
#include "wire/connection.h"
#include "wire/varlink.h"

namespace gpuprobe::inline service {

/// Bytes to send, perhaps to many.
struct Text {
    std::string bytes = {};
    /// Whether its memory is counted elsewhere, as that of kept answers is.
    mutable bool is_kept = false;
};
using SharedText = std::shared_ptr<const Text>;  // answers are kept and sent at once

/// One client of the socket: what it asks is read, one message at a time, and what it is answered
/// is written as fast as it reads. Nothing here waits.
class SocketConnection {
public:
    /// What it needs of whoever answers.
    class Owner {
    public:
        virtual ~Owner() = default;
        /// Calls ready() whenever one of these epoll events holds for the descriptor, from now on
        /// instead of others; `is_first`: there are none yet. False when that can't be.
        virtual bool watch(SocketConnection& connection, std::uint32_t events, bool is_first) = 0;
        /// A call has come; the message is valid for this call alone. It is to be answered by
        /// send(), in the end with a last answer, or by finish().
        virtual void called(SocketConnection& connection, std::string_view message) = 0;
        /// What it holds has changed: held_bytes().
        virtual void changed(SocketConnection& connection) = 0;
        /// The client has gone, or was closed; the connection may be destroyed later.
        virtual void closed(SocketConnection& connection) = 0;
    };

    /// A message must be whole in that time, and an answer make progress in this one.
    static constexpr Duration kPatienceForMessage = std::chrono::seconds{30};
    static constexpr Duration kPatienceForReader = std::chrono::minutes{5};
    static constexpr Bytes kSmall = kib(1);  ///< smaller calls and answers are not counted

    /// `owner` outlives it.
    SocketConnection(
        std::uint64_t id, UniqueFd socket, bus::Credentials peer, EventLoop& loop, Owner& owner);

    /// To be called once, when its owner knows it.
    void start() { watch(); }
    [[nodiscard]] std::uint64_t id() const { return id_; }
    [[nodiscard]] int descriptor() const { return socket_.get(); }
    [[nodiscard]] const bus::Credentials& peer() const { return peer_; }
    /// Its groups as they were when it connected, which are looked up only for those who call.
    void know_groups(std::optional<std::vector<std::uint32_t>> groups) {
        peer_.groups = std::move(groups);
    }
    [[nodiscard]] bool is_open() const { return static_cast<bool>(socket_); }
    /// Bytes that this connection needs: what was read of calls that have not been answered, and
    /// its answers that have not been written, but kept ones. Zero once it is closed.
    [[nodiscard]] std::size_t held_bytes() const;
    /// How long ago it was last read from or written to, if it waits for its client's next call.
    [[nodiscard]] Duration idle_time() const {
        return awaits_input() ? loop_.now() - since_ : Duration{};
    }
    [[nodiscard]] bool is_overdue(MonotonicTime now) const;

    /// Sends an answer; `is_last`: of the call. While an earlier one is being written, a later one
    /// takes the place of the one that waits: progress and states are of the moment.
    void send(SharedText text, bool is_last);
    /// Ends a call that wants no answer.
    void finish();
    /// Sends the text as far as the client takes it at once, and closes.
    void close_with(const SharedText& text);
    /// The same when the client is at fault, not the number of clients: if it has not read earlier
    /// answers, the connection ends with the client, because their memory stays as long.
    void end_with(const SharedText& text);
    void close();
    /// Whether it waits for what the client sends, and for nothing else.
    [[nodiscard]] bool awaits_input() const { return is_open() && watched_ == EPOLLIN; }
    /// Some of the events that Owner::watch() was given hold.
    void ready(std::uint32_t events);

private:
    void read();
    void take_next();
    void await_next();
    /// False when the rest has to wait for the reader.
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
    SharedText output_ = {};  ///< what is being written
    std::size_t written_ = 0;
    SharedText waiting_ = {};                    ///< what is written next
    bool is_ending_ = false;                     ///< it is read no more
    bool is_called_ = false;                     ///< the last answer has not been given
    std::size_t call_size_ = 0;                  ///< of the call that is being answered
    MonotonicTime since_ = {};                   ///< of the last progress
    std::optional<std::uint32_t> watched_ = {};  ///< the events that are waited for
    EventHandle next_ = {};
};

}  // namespace gpuprobe::inline service
