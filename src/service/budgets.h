// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include <sys/types.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/result.h"

namespace gpuprobe::inline service {

/// How often one user may make calls that cost more than an answer, such as a write to the disk or
/// a probe.
class CallBudget {
public:
    static constexpr unsigned kCalls = 30;  ///< per window
    static constexpr Duration kWindow = std::chrono::minutes{1};
    static constexpr std::size_t kMaxUsers = 1024;

    explicit CallBudget(const Clock& clock) : clock_{clock} {}

    /// Errors: TooManyRequests when the user made too many calls within the window, or when too
    /// many users are active in it. Root has no limit.
    Status take(uid_t uid);

private:
    struct Account {
        unsigned calls = 0;
        MonotonicTime since = {};
    };

    const Clock& clock_;
    std::map<uid_t, Account> accounts_ = {};
};

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
