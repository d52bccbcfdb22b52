// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace gpuprobe {

/// How much text one caller may ask for within messages.
///
/// Measured with dbus-daemon 1.14: a few callers that ask for large replies and never read them
/// make the bus stop taking anything from us, for everyone. Replies that carry a descriptor do not.
class InlineBudget {
public:
    static constexpr Bytes kMaxReply = kib(256);
    static constexpr Bytes kPerSender = mib(8);
    static constexpr Duration kWindow = std::chrono::seconds{10};
    static constexpr std::size_t kMaxSenders = 1024;

    explicit InlineBudget(const Clock& clock) : clock_{clock} {}

    /// Errors: TooLarge for more than one reply may hold; TooManyRequests for more than one sender
    /// gets within the window, and when too many senders are active in it.
    Status take(const std::string& sender, Bytes size);

private:
    struct Account {
        Bytes used = {};
        MonotonicTime since = {};
    };

    const Clock& clock_;
    std::map<std::string, Account> accounts_ = {};
};

}  // namespace gpuprobe
