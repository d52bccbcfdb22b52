// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include <linux/sockios.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "service/socket_server.h"

namespace gpuprobe::inline service {

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

}  // namespace gpuprobe::inline service
