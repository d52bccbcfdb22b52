// SPDX-License-Identifier: Apache-2.0
#include "probe/worker_message.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <sys/socket.h>

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kMaxDescriptors = 4;

/// A buffer for SCM_RIGHTS messages, aligned as cmsg(3) requires.
struct alignas(cmsghdr) Ancillary {
    std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes = {};
};

Error unavailable(std::string_view what, int number) {
    return Error{ErrorCode::Unavailable,
                 std::string{what} + ": " + std::generic_category().message(number)};
}

void attach(msghdr& message, Ancillary& ancillary, std::span<const int> descriptors) {
    message.msg_control = ancillary.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

/// Takes ownership of all received descriptors, so that they are closed even if the message turns
/// out to be invalid.
std::vector<UniqueFd> descriptors_of(msghdr& message) {
    std::vector<UniqueFd> owned;
    for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t offset = CMSG_LEN(0); offset < header->cmsg_len; offset += sizeof(int)) {
            int descriptor = -1;
            std::memcpy(&descriptor, reinterpret_cast<const char*>(header) + offset,
                        sizeof descriptor);
            owned.emplace_back(descriptor);
        }
    }
    return owned;
}

/// Repeats the call while a signal interrupts it.
template <class Call>
ssize_t uninterrupted(Call call) {
    ssize_t count = 0;
    do {
        count = call();
    } while (count < 0 && errno == EINTR);
    return count;
}

}  // namespace

Status send_message(int socket, std::string_view text, std::span<const int> descriptors) {
    iovec bytes = {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    Ancillary ancillary;
    if (!descriptors.empty())
        attach(message, ancillary, descriptors);
    if (uninterrupted([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); }) < 0)
        return unavailable("sending", errno);
    return Done{};
}

Result<std::optional<Message>> receive_message(int socket, Bytes limit, std::size_t descriptors) {
    std::string text(limit.count, '\0');
    iovec bytes = {.iov_base = text.data(), .iov_len = text.size()};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    Ancillary ancillary;
    if (descriptors > 0) {
        message.msg_control = ancillary.bytes.data();
        message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    }
    const auto count =
        uninterrupted([&] { return ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); });
    if (count < 0 && errno == EAGAIN)
        return std::optional<Message>{};
    if (count < 0)
        return unavailable("receiving", errno);
    auto owned = descriptors_of(message);
    // A message is never empty, so zero bytes mean end-of-file.
    if (count == 0)
        return Error{ErrorCode::Unavailable, "the connection has ended"};
    if ((message.msg_flags & MSG_TRUNC) != 0)
        return Error{ErrorCode::TooLarge, "a message over " + std::to_string(limit.count)};
    if ((message.msg_flags & MSG_CTRUNC) != 0 || owned.size() > descriptors)
        return Error{ErrorCode::Malformed, "a message with too many descriptors"};
    text.resize(static_cast<std::size_t>(count));
    return std::optional{Message{.text = std::move(text), .descriptors = std::move(owned)}};
}

Result<uid_t> peer_of(int socket) {
    ucred peer = {};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return unavailable("SO_PEERCRED", errno);
    return peer.uid;
}

}  // namespace gpuprobe::inline probe
