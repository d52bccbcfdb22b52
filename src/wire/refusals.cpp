// SPDX-License-Identifier: Apache-2.0
#include "wire/refusals.h"

#include <utility>

namespace gpuprobe::bus {

void Refusals::add(const std::string& sender, std::uint32_t serial, const Error& error) {
    if (count_ >= kMax)
        return send_(sender, serial, error);
    auto& waiting = waiting_.try_emplace(sender, Sender{.error = error}).first->second;
    waiting.error = error;
    waiting.serials.push_back(serial);
    ++count_;
    if (!pause_)
        pause_ = loop_.after(kPause, [this] { send_some(); });
}

void Refusals::send_some() {
    pause_.reset();
    for (std::size_t left = kAtOnce; left > 0 && count_ > 0 && may_send_(); --left)
        send_next();
    if (count_ > 0)
        pause_ = loop_.after(kPause, [this] { send_some(); });
}

/// One sender after the other.
void Refusals::send_next() {
    auto next = waiting_.upper_bound(last_);
    if (next == waiting_.end())
        next = waiting_.begin();
    last_ = next->first;
    const auto serial = next->second.serials.front();
    const auto error = next->second.error;
    next->second.serials.pop_front();
    --count_;
    if (next->second.serials.empty())
        waiting_.erase(next);
    send_(last_, serial, error);
}

}  // namespace gpuprobe::bus
