// SPDX-License-Identifier: Apache-2.0
#include "service/fair_queue.h"

#include <algorithm>
#include <utility>

namespace gpuprobe::inline service {
namespace {

/// Virtual time that each call costs in addition to its real time, so that payers take turns even
/// if the clock does not advance between calls.
constexpr Duration kLeastCost = std::chrono::microseconds{1};

}  // namespace

void FairQueue::wait(const Payer& payer, Callback serve) {
    auto& of_class = class_of(payer);
    auto& flow = flows_.try_emplace(payer.id, Flow{.payer = payer}).first->second;
    if (flow.calls.empty()) {
        // A class or a payer that was idle starts at the current virtual time, so it gets no credit
        // for the time in which it did not call.
        if (of_class.order.empty())
            of_class.start = std::max(of_class.start, time_);
        if (flow.payer.standing != payer.standing)
            flow.start = {};  // the old value belongs to the other class's virtual time
        flow.payer = payer;
        flow.start = std::max(flow.start, of_class.time);
        of_class.order.insert(place_of(flow));
    }
    flow.calls.push_back(std::move(serve));
    ++count_;
    schedule();
}

/// Marks the reader as active and starts a new window if the last window is over.
void FairQueue::use(Reader& reader, MonotonicTime now) {
    reader.seen = now;
    if (now - reader.since >= kWindow) {
        reader.since = now;
        reader.used = {};
    }
}

Status FairQueue::admit(const Payer& payer) {
    const auto now = loop_.now();
    if (readers_.size() >= kMaxPayers && !readers_.contains(payer.id))
        forget_silent_readers(now);
    auto& reader = readers_.try_emplace(payer.id, Reader{.since = now}).first->second;
    use(reader, now);
    admitted_ = payer;
    untaken_before_ = untaken_();
    if (payer.standing == Standing::Root)
        return Done{};
    const auto flow = flows_.find(payer.id);
    if (flow != flows_.end() && flow->second.calls.size() >= kMaxWaiting)
        return Error{ErrorCode::TooManyRequests, "too many calls from this user are pending"};
    if (reader.untaken >= kMaxUntaken)
        return Error{ErrorCode::TooManyRequests, "too many answers to this user are pending"};
    // The time limits apply only under load: other payers are active and more calls can be read.
    if (reader.used >= kShare && !is_alone(payer.id) && has_input_())
        return Error{ErrorCode::TooManyRequests, "too many calls from this user in one second"};
    if (payer.standing != Standing::Stranger)
        return Done{};
    // Strangers also have a common limit, which is never applied to a stranger's first call in a
    // window.
    use(strangers_, now);
    if (strangers_.used >= 2 * kShare && reader.used > Duration{} && has_input_())
        return Error{ErrorCode::TooManyRequests,
                     "too many calls in one second from users without an account on this machine"};
    return Done{};
}

Status FairQueue::admit_unidentified() {
    reads_unidentified_ = true;
    untaken_before_ = untaken_();
    // The answers to other callers do not count, because there can be many of them while the bus is
    // busy, and they would then keep every new caller out.
    if (unidentified_ >= kMaxUntakenOfUnidentified)
        return Error{ErrorCode::TooManyRequests, "too many answers to new callers are pending"};
    return Done{};
}

void FairQueue::spent(Duration time) {
    // Answers that were added while the call was read belong to the call's caller.
    const auto untaken = untaken_();
    const auto added = untaken - std::min(untaken, untaken_before_);
    if (std::exchange(reads_unidentified_, false))
        unidentified_ += added;
    const auto payer = std::exchange(admitted_, std::nullopt);
    const auto reader = payer ? readers_.find(payer->id) : readers_.end();
    if (reader == readers_.end())
        return;
    reader->second.used += time;
    reader->second.untaken += added;
    if (payer->standing == Standing::Stranger)
        strangers_.used += time;
}

void FairQueue::go_on() {
    for (auto& [payer, reader] : readers_)
        reader.untaken = 0;
    unidentified_ = 0;
    is_first_ = true;
    schedule();
}

void FairQueue::before_reading() {
    if (std::exchange(is_first_, false) && count_ > 0 && untaken_() == 0)
        serve_next();
}

/// Whether no other payer has called within kMemory.
bool FairQueue::is_alone(uid_t payer) const {
    const auto now = loop_.now();
    return std::ranges::none_of(readers_, [&](const auto& entry) {
        return entry.first != payer && now - entry.second.seen < kMemory;
    });
}

/// Frees an entry for one more reader. If all readers have been active recently, drops the reader
/// that has used the least time, because this loses the least information.
void FairQueue::forget_silent_readers(MonotonicTime now) {
    std::erase_if(readers_,
                  [now](const auto& entry) { return now - entry.second.seen >= kMemory; });
    if (readers_.size() >= kMaxPayers)
        readers_.erase(std::ranges::min_element(
            readers_, {}, [](const auto& entry) { return entry.second.used; }));
}

void FairQueue::schedule() {
    if (!turn_ && count_ > 0)
        turn_ = loop_.defer([this] { turn(); });
}

/// Serves a call or skips the turn so that more calls are read. The event loop alternates between
/// turn() and reading.
void FairQueue::turn() {
    turn_.reset();
    if (count_ == 0)
        return;  // before_reading() has already served the last call
    if (untaken_() > 0)
        return sent_();  // go_on() will continue
    // Serve a call if there is nothing to read, if too many calls are waiting, or if enough turns
    // were skipped.
    if (!has_input_() || count_ > kMaxWaitingOfAll || ++passed_ >= kReadsPerTurn)
        serve_next();
    schedule();
}

/// The class with waiting calls that has used the least time. At least one call must be waiting.
FairQueue::Class& FairQueue::next_class() {
    Class* next = nullptr;
    for (auto& each : classes_)
        if (!each.order.empty() && (!next || each.start < next->start))
            next = &each;
    return *next;
}

/// Serves the first call of the next class and charges its time to the payer and to the class.
void FairQueue::serve_next() {
    passed_ = 0;
    auto& of_class = next_class();
    auto& flow = flows_.at(std::get<uid_t>(*of_class.order.begin()));
    of_class.order.erase(of_class.order.begin());
    of_class.time = flow.start;
    time_ = of_class.start;
    const auto serve = std::move(flow.calls.front());
    flow.calls.pop_front();
    --count_;
    const auto before = loop_.now();
    const auto id = flow.payer.id;
    serve();  // serve() may add calls and flows, but does not remove any
    const auto cost = loop_.now() - before + kLeastCost;
    auto& served = flows_.at(id);
    // If serve() queued another call for this payer, wait() has inserted the flow with the old
    // start; remove it before the start changes.
    of_class.order.erase(place_of(served));
    served.start += cost;
    of_class.start += cost;
    if (!served.calls.empty())
        of_class.order.insert(place_of(served));
    else if (flows_.size() > kMaxPayers || count_ == 0)
        forget_idle_flows();
    sent_();
}

void FairQueue::forget_idle_flows() {
    // Keep a flow that is ahead of virtual time, because its payer still has to wait for the other
    // payers.
    std::erase_if(flows_, [this](const auto& entry) {
        return entry.second.calls.empty() &&
               (count_ == 0 || entry.second.start <= class_of(entry.second.payer).time);
    });
    if (count_ == 0) {  // no call is waiting, so all payers start again from zero
        classes_ = {};
        time_ = {};
    }
}

}  // namespace gpuprobe::inline service
