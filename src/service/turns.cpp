// SPDX-License-Identifier: Apache-2.0
#include "service/turns.h"

#include <algorithm>
#include <utility>

#include "base/accounts.h"

namespace gpuprobe::inline service {
namespace {

constexpr std::size_t kMaxUsers = 1024;

}  // namespace

void Turns::wait(uid_t uid, Callback serve) {
    waiting_[uid].push_back(std::move(serve));
    ++count_;
    schedule();
}

Status Turns::admit(uid_t uid) {
    const auto now = loop_.now();
    if (users_.size() >= kMaxUsers)
        forget_the_silent(now);
    auto& user = users_.try_emplace(uid, User{.since = now}).first->second;
    user.seen = now;
    if (now - user.since >= kWindow) {
        user.since = now;
        user.used = {};
    }
    admitted_ = uid;
    untaken_before_ = untaken_();
    if (uid == kRoot)
        return Done{};
    const auto queue = waiting_.find(uid);
    if (queue != waiting_.end() && queue->second.size() >= kMaxWaiting)
        return Error{ErrorCode::TooManyRequests, "too many calls of this user wait"};
    if (user.untaken >= kMaxUntaken)
        return Error{ErrorCode::TooManyRequests, "too many answers to this user are under way"};
    if (user.used >= kShare && !is_alone(uid) && has_input_())
        return Error{ErrorCode::TooManyRequests, "too many calls of this user in one second"};
    return Done{};
}

void Turns::spent(Duration time) {
    const auto uid = std::exchange(admitted_, std::nullopt);
    const auto user = uid ? users_.find(*uid) : users_.end();
    if (user == users_.end())
        return;
    user->second.used += time;
    const auto untaken = untaken_();
    if (untaken > untaken_before_)
        user->second.untaken += untaken - untaken_before_;
}

void Turns::go_on() {
    for (auto& [uid, user] : users_)
        user.untaken = 0;
    is_first_ = true;
    schedule();
}

void Turns::before_reading() {
    if (std::exchange(is_first_, false) && !waiting_.empty() && untaken_() == 0)
        serve_next();
}

bool Turns::is_alone(uid_t uid) const {
    const auto now = loop_.now();
    return std::ranges::none_of(users_, [&](const auto& entry) {
        return entry.first != uid && now - entry.second.seen < kMemory;
    });
}

void Turns::forget_the_silent(MonotonicTime now) {
    std::erase_if(users_, [now](const auto& entry) { return now - entry.second.seen >= kMemory; });
    if (users_.size() >= kMaxUsers)
        users_.clear();
}

void Turns::schedule() {
    if (!turn_ && !waiting_.empty())
        turn_ = loop_.defer([this] { turn(); });
}

/// The loop gives the reader a turn for each of ours.
void Turns::turn() {
    turn_.reset();
    if (waiting_.empty())
        return;  // before_reading() has served the last
    if (untaken_() > 0)
        return sent_();  // from then on go_on() comes
    if (!has_input_() || count_ > kMaxWaitingOfAll || ++passed_ >= kReadsPerTurn)
        serve_next();
    schedule();
}

void Turns::serve_next() {
    passed_ = 0;
    auto next = waiting_.upper_bound(served_);
    if (next == waiting_.end())
        next = waiting_.begin();
    served_ = next->first;
    const auto serve = std::move(next->second.front());
    next->second.pop_front();
    --count_;
    if (next->second.empty())
        waiting_.erase(next);
    serve();
    sent_();
}

}  // namespace gpuprobe::inline service
