// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include <sys/types.h>

#include "base/event_loop.h"
#include "base/result.h"
#include "service/admission.h"

namespace gpuprobe::inline service {

/// Decides which call is answered next.
///
/// A single call is answered immediately. If more calls can be read, they are read first. Then the
/// payer that has used the least time is served, so that no payer has to wait for all calls of
/// another payer. The classes (strangers, users, root) take turns in the same way, so that many
/// strangers together get only one share. While the bus has not accepted our earlier answers, no
/// call is answered, not even another user's.
/// Source of the order: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996).
class FairQueue {
public:
    using Callback = std::function<void()>;

    /// maximum number of waiting calls of one payer; root has no limit
    static constexpr std::size_t kMaxWaiting = 1024;
    /// if more calls are waiting, no call is read early
    static constexpr std::size_t kMaxWaitingOfAll = 8192;
    static constexpr unsigned kReadsPerTurn = 4;
    /// Maximum number of answers to one payer that the bus has not accepted. Counts only calls that
    /// are answered while they are read.
    static constexpr std::size_t kMaxUntaken = 8;
    /// Maximum number of answers to all unidentified callers together that the bus has not
    /// accepted.
    static constexpr std::size_t kMaxUntakenOfUnidentified = 64;
    /// Time limit within kWindow for one payer's calls that are answered while they are read
    /// (properties, introspection). The limit applies only if another payer has called within
    /// kMemory. All strangers together get twice this time.
    static constexpr Duration kShare = std::chrono::milliseconds{200};
    static constexpr Duration kWindow = std::chrono::seconds{1};
    static constexpr Duration kMemory = std::chrono::minutes{1};
    static constexpr std::size_t kMaxPayers = 4096;

    /// `sent`: called after each turn. `has_input`: returns whether another call can be read.
    /// `untaken`: returns the number of answers that the bus has not accepted.
    FairQueue(EventLoop& loop,
              Callback sent,
              std::function<bool()> has_input,
              std::function<std::size_t()> untaken)
        : loop_{loop},
          sent_{std::move(sent)},
          has_input_{std::move(has_input)},
          untaken_{std::move(untaken)} {}

    /// Whether a call may be answered without waiting for its turn.
    [[nodiscard]] bool is_free() const { return count_ == 0 && untaken_() == 0 && !has_input_(); }
    /// Queues `serve` until the payer's turn; never runs it from within this call.
    void wait(const Payer& payer, Callback serve);

    /// Call this when the bus has accepted all answers.
    void go_on();
    /// Call this before any call is read. After go_on(), this function serves one waiting call, so
    /// that waiting calls come before calls that are answered while they are read.
    void before_reading();

    /// Call this before a call of `payer` is read. Errors: TooManyRequests.
    Status admit(const Payer& payer);
    /// Call this before a call of an unidentified caller is read. Errors: TooManyRequests.
    Status admit_unidentified();
    /// Charges the time for reading the last admitted call and, if the call was answered while it
    /// was read, for answering it.
    void spent(Duration time);

private:
    /// The queued calls of one payer, and the start of the first call in virtual time.
    struct Flow {
        Payer payer = {};
        std::deque<Callback> calls = {};
        Duration start = {};
    };
    /// Tuples of start, rank and id. The payer of the first entry is served next.
    using Order = std::set<std::tuple<Duration, std::uint64_t, uid_t>>;
    /// The flows of payers with the same Standing. Flows without calls are kept until virtual time
    /// has passed their start.
    struct Class {
        Order order = {};
        Duration time = {};   ///< virtual time: the start of the call that was served last
        Duration start = {};  ///< virtual start of this class among the classes
    };
    /// The account of one payer for calls that are answered while they are read.
    struct Reader {
        MonotonicTime seen = {};
        MonotonicTime since = {};  ///< time at which the window started
        Duration used = {};        ///< time used within the window
        std::size_t untaken = 0;   ///< answers sent while calls were read, since go_on()
    };
    static Order::value_type place_of(const Flow& flow) {
        return {flow.start, flow.payer.rank, flow.payer.id};
    }
    [[nodiscard]] Class& class_of(const Payer& payer) {
        return classes_[static_cast<std::size_t>(payer.standing)];
    }
    [[nodiscard]] bool is_alone(uid_t payer) const;
    void use(Reader& reader, MonotonicTime now);
    void forget_silent_readers(MonotonicTime now);
    void forget_idle_flows();
    void schedule();
    void turn();
    [[nodiscard]] Class& next_class();
    void serve_next();

    EventLoop& loop_;
    Callback sent_;
    std::function<bool()> has_input_;
    std::function<std::size_t()> untaken_;
    std::map<uid_t, Flow> flows_ = {};
    std::array<Class, 3> classes_ = {};  ///< the classes, by standing
    Duration time_ = {};                 ///< virtual time of all classes
    std::size_t count_ = 0;              ///< number of calls in flows_
    unsigned passed_ = 0;                ///< number of turns skipped in favor of reading
    EventHandle turn_ = {};
    std::map<uid_t, Reader> readers_ = {};
    Reader strangers_ = {};  ///< account of all strangers together
    /// answers to all unidentified callers together that the bus has not accepted
    std::size_t unidentified_ = 0;
    /// The payer of the call that is being read; nullopt if the caller is unidentified, or if no
    /// call is being read.
    std::optional<Payer> admitted_ = {};
    bool reads_unidentified_ = false;  ///< whether a call of an unidentified caller is being read
    std::size_t untaken_before_ = 0;   ///< untaken_() when the call was admitted
    bool is_first_ = false;            ///< whether a waiting call is served before reading
};

}  // namespace gpuprobe::inline service
