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

/// Decides whose call is answered next.
///
/// A call that comes alone is answered at once. While more calls can be read, they are read first;
/// then the payer is served that has used the least time so far, so that nobody waits for all calls
/// of somebody else. Strangers, users and root take turns in the same way, so that a crowd of
/// strangers counts as one. While the bus still has unsent data from us, no call is answered, not
/// even another user's.
/// Source of the order: start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996).
class FairQueue {
public:
    using Callback = std::function<void()>;

    static constexpr std::size_t kMaxWaiting = 1024;  ///< calls of one payer; root has no limit
    static constexpr std::size_t kMaxWaitingOfAll = 8192;  ///< above it, nothing more is read ahead
    static constexpr unsigned kReadsPerTurn = 4;
    /// Answers to one payer that the bus has not taken, of calls that are answered while they are
    /// read.
    static constexpr std::size_t kMaxUntaken = 8;
    /// Of each second, for what is answered while it is read (properties, introspection), once
    /// somebody else has called within kMemory. All strangers together get twice as much.
    static constexpr Duration kShare = std::chrono::milliseconds{200};
    static constexpr Duration kWindow = std::chrono::seconds{1};
    static constexpr Duration kMemory = std::chrono::minutes{1};
    static constexpr std::size_t kMaxPayers = 4096;

    /// `has_input`: whether another call can be read. `untaken`: how many answers the bus has not
    /// taken. `sent`: called after each turn.
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
    /// Runs `serve` in the payer's turn, never from within.
    void wait(const Payer& payer, Callback serve);

    /// To be called when the bus has taken all answers.
    void go_on();
    /// To be called before anything is read: after go_on(), a call that waits comes before those
    /// that are answered while they are read. Runs one that waits.
    void before_reading();

    /// Before a call of `payer` is read. Errors: TooManyRequests.
    Status admit(const Payer& payer);
    /// How long it took to read the call that was admitted last, and to answer it if that was done
    /// at once.
    void spent(Duration time);

private:
    /// The calls of one payer, and when the first of them starts in virtual time.
    struct Flow {
        Payer payer = {};
        std::deque<Callback> calls = {};
        Duration start = {};
    };
    /// Start, rank, id: the first one is served next.
    using Order = std::set<std::tuple<Duration, std::uint64_t, uid_t>>;
    /// The flows of one standing. Flows without calls stay until virtual time has passed them.
    struct Class {
        Order order = {};
        Duration time = {};   ///< virtual time: the start of the call that was served last
        Duration start = {};  ///< of this class among the others
    };
    struct Reader {
        MonotonicTime seen = {};
        MonotonicTime since = {};  ///< start of the window
        Duration used = {};        ///< within the window
        std::size_t untaken = 0;   ///< answers sent while its calls were read, since go_on()
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
    std::array<Class, 3> classes_ = {};  ///< by standing
    Duration time_ = {};                 ///< virtual time of all classes
    std::size_t count_ = 0;              ///< of calls in flows_
    unsigned passed_ = 0;                ///< turns left to the reader
    EventHandle turn_ = {};
    std::map<uid_t, Reader> readers_ = {};
    Reader strangers_ = {};
    std::optional<Payer> admitted_ = {};  ///< whose call is being read
    std::size_t untaken_before_ = 0;      ///< when it was admitted
    bool is_first_ = false;               ///< whether a call that waits comes before reading
};

}  // namespace gpuprobe::inline service
