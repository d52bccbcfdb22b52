// SPDX-License-Identifier: Apache-2.0
#include "service/fair_queue.h"

#include <algorithm>
#include <utility>

namespace gpuprobe::inline service {
namespace {

/// What each call costs in virtual time besides the time that it takes, so that payers take turns
/// even where the clock does not move.
constexpr Duration kLeastCost = std::chrono::microseconds{1};

}  // namespace

void FairQueue::wait(const Payer& payer, Callback serve) {
    auto& of_class = class_of(payer);
    auto& flow = flows_.try_emplace(payer.id, Flow{.payer = payer}).first->second;
    if (flow.calls.empty()) {
        if (of_class.order.empty())
            of_class.start = std::max(of_class.start, time_);
        if (flow.payer.standing != payer.standing)
            flow.start = {};  // the time of another class
        flow.payer = payer;
        flow.start = std::max(flow.start, of_class.time);
        of_class.order.insert(place_of(flow));
    }
    flow.calls.push_back(std::move(serve));
    ++count_;
    schedule();
}

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
        return Error{ErrorCode::TooManyRequests, "too many calls of this user wait"};
    if (reader.untaken >= kMaxUntaken)
        return Error{ErrorCode::TooManyRequests, "too many answers to this user are under way"};
    if (reader.used >= kShare && !is_alone(payer.id) && has_input_())
        return Error{ErrorCode::TooManyRequests, "too many calls of this user in one second"};
    if (payer.standing != Standing::Stranger)
        return Done{};
    use(strangers_, now);
    if (strangers_.used >= 2 * kShare && reader.used > Duration{} && has_input_())
        return Error{ErrorCode::TooManyRequests,
                     "too many calls in one second of users without an account on this machine"};
    return Done{};
}

void FairQueue::spent(Duration time) {
    const auto payer = std::exchange(admitted_, std::nullopt);
    const auto reader = payer ? readers_.find(payer->id) : readers_.end();
    if (reader == readers_.end())
        return;
    reader->second.used += time;
    if (payer->standing == Standing::Stranger)
        strangers_.used += time;
    const auto untaken = untaken_();
    if (untaken > untaken_before_)
        reader->second.untaken += untaken - untaken_before_;
}

void FairQueue::go_on() {
    for (auto& [payer, reader] : readers_)
        reader.untaken = 0;
    is_first_ = true;
    schedule();
}

void FairQueue::before_reading() {
    if (std::exchange(is_first_, false) && count_ > 0 && untaken_() == 0)
        serve_next();
}

bool FairQueue::is_alone(uid_t payer) const {
    const auto now = loop_.now();
    return std::ranges::none_of(readers_, [&](const auto& entry) {
        return entry.first != payer && now - entry.second.seen < kMemory;
    });
}

/// Makes room for one more. If nobody has been silent, the payer that has used the least forgets
/// the least.
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

/// The loop gives the reader a turn for each of ours.
void FairQueue::turn() {
    turn_.reset();
    if (count_ == 0)
        return;  // before_reading() has served the last
    if (untaken_() > 0)
        return sent_();  // from then on go_on() comes
    if (!has_input_() || count_ > kMaxWaitingOfAll || ++passed_ >= kReadsPerTurn)
        serve_next();
    schedule();
}

/// Among classes that have calls, the one that has used the least time. One that has calls exists.
FairQueue::Class& FairQueue::next_class() {
    Class* next = nullptr;
    for (auto& each : classes_)
        if (!each.order.empty() && (!next || each.start < next->start))
            next = &each;
    return *next;
}

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
    serve();  // may add calls, and so flows, but removes none
    const auto cost = loop_.now() - before + kLeastCost;
    auto& served = flows_.at(id);
    // A call that came while this one was served found no calls, and its flow is in the order.
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
    std::erase_if(flows_, [this](const auto& entry) {
        return entry.second.calls.empty() &&
               (count_ == 0 || entry.second.start <= class_of(entry.second.payer).time);
    });
    if (count_ == 0) {  // nobody competes: everyone starts anew
        classes_ = {};
        time_ = {};
    }
}

}  // namespace gpuprobe::inline service
