// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace gpuprobe::inline service {

/// How much text one caller may get in messages, as opposed to file descriptors.
///
/// Measured with dbus-daemon 1.14: when a few callers ask for large replies and never read them,
/// the bus stops taking messages from the daemon, and nobody is answered. Replies with a descriptor
/// do not have that effect.
class InlineBudget {
public:
    static constexpr Bytes kMaxReply = kib(256);
    static constexpr Bytes kPerSender = mib(8);
    static constexpr Duration kWindow = std::chrono::seconds{10};
    static constexpr std::size_t kMaxSenders = 1024;

    explicit InlineBudget(const Clock& clock) : clock_{clock} {}

    /// Errors: TooLarge for more than one reply may hold; TooManyRequests when the sender got too
    /// much within the window, or when too many senders are active in it.
    Status take(const std::string& sender, Bytes size);

private:
    struct Account {
        Bytes used = {};
        MonotonicTime since = {};
    };

    const Clock& clock_;
    std::map<std::string, Account> accounts_ = {};
};

}  // namespace gpuprobe::inline service
