// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>

#include <sys/types.h>

#include "base/event_loop.h"
#include "base/result.h"

namespace gpuprobe::inline service {

/// Whose call is answered next. A call that comes alone is answered at once. While more wait to be
/// read, they are read first and then answered one user after the other, so that nobody waits for
/// all calls of another user. An answer that the bus has not taken is one that the next one waits
/// for, whoever gets it: while there is any, no call is answered.
class Turns {
public:
    using Callback = std::function<void()>;

    static constexpr std::size_t kMaxWaiting = 1024;  ///< calls of one user; root has no limit
    static constexpr std::size_t kMaxWaitingOfAll =
        8192;  ///< with more no further one is read ahead
    static constexpr unsigned kReadsPerTurn = 4;
    /// Answers to one user that the bus has not taken, of calls that are answered while they are
    /// read.
    static constexpr std::size_t kMaxUntaken = 8;
    /// Of each second, for what is answered while it is read (properties, introspection), as soon
    /// as somebody else has called within kMemory.
    static constexpr Duration kShare = std::chrono::milliseconds{200};
    static constexpr Duration kWindow = std::chrono::seconds{1};
    static constexpr Duration kMemory = std::chrono::minutes{1};

    /// `has_input`: whether another call can be read. `untaken`: how many answers the bus has not
    /// taken. `sent`: called after each turn.
    Turns(EventLoop& loop,
          Callback sent,
          std::function<bool()> has_input,
          std::function<std::size_t()> untaken)
        : loop_{loop},
          sent_{std::move(sent)},
          has_input_{std::move(has_input)},
          untaken_{std::move(untaken)} {}

    /// Whether a call may be answered without waiting for its turn.
    [[nodiscard]] bool is_free() const {
        return waiting_.empty() && untaken_() == 0 && !has_input_();
    }
    /// Runs `serve` in the user's turn, never from within.
    void wait(uid_t uid, Callback serve);

    /// To be called when the bus has taken all answers.
    void go_on();
    /// To be called before anything is read: after go_on(), whoever waits comes before those who
    /// are answered while they are read. Runs what waits.
    void before_reading();

    /// Before a call of `uid` is read. Errors: TooManyRequests.
    Status admit(uid_t uid);
    /// The call that was admitted last took so long to read, and to answer if that was done at
    /// once.
    void spent(Duration time);

private:
    struct User {
        MonotonicTime seen = {};
        MonotonicTime since = {};  ///< start of the window
        Duration used = {};        ///< within the window
        std::size_t untaken = 0;   ///< answers that went out while it was read, since go_on()
    };
    [[nodiscard]] bool is_alone(uid_t uid) const;
    void forget_the_silent(MonotonicTime now);
    void schedule();
    void turn();
    void serve_next();

    EventLoop& loop_;
    Callback sent_;
    std::function<bool()> has_input_;
    std::function<std::size_t()> untaken_;
    std::map<uid_t, std::deque<Callback>> waiting_ = {};  ///< no empty queues
    std::size_t count_ = 0;                               ///< of calls in waiting_
    uid_t served_ = 0;                                    ///< whose turn it was
    unsigned passed_ = 0;                                 ///< turns left to the reader
    EventHandle turn_ = {};
    std::map<uid_t, User> users_ = {};
    std::optional<uid_t> admitted_ = {};  ///< whose call is being read
    std::size_t untaken_before_ = 0;      ///< when it was admitted
    bool is_first_ = false;               ///< whether a call that waits comes before reading
};

}  // namespace gpuprobe::inline service
