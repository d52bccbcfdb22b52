// SPDX-License-Identifier: Apache-2.0
#include "service/budgets.h"

namespace gpuprobe::inline service {

Status CallBudget::take(uid_t uid) {
    if (uid == 0)
        return Done{};
    const auto now = clock_.monotonic();
    std::erase_if(accounts_,
                  [now](const auto& entry) { return now - entry.second.since >= kWindow; });
    if (accounts_.size() >= kMaxUsers && !accounts_.contains(uid))
        return Error{ErrorCode::TooManyRequests, "too many users at once; try again in a minute"};
    auto& account = accounts_.try_emplace(uid, Account{.since = now}).first->second;
    if (account.calls >= kCalls)
        return Error{ErrorCode::TooManyRequests, "30 such calls a minute are enough"};
    ++account.calls;
    return Done{};
}

Status InlineBudget::take(const std::string& sender, Bytes size) {
    if (size > kMaxReply)
        return Error{ErrorCode::TooLarge, "the report does not fit into a reply: use DescribeFd"};
    const auto now = clock_.monotonic();
    std::erase_if(accounts_,
                  [now](const auto& entry) { return now - entry.second.since >= kWindow; });
    if (accounts_.size() >= kMaxSenders && !accounts_.contains(sender))
        return Error{ErrorCode::TooManyRequests, "too many callers: use DescribeFd"};
    auto& account = accounts_.try_emplace(sender, Account{.since = now}).first->second;
    if (account.used.count + size.count > kPerSender.count)
        return Error{ErrorCode::TooManyRequests, "too much text in a short time: use DescribeFd"};
    account.used.count += size.count;
    return Done{};
}

}  // namespace gpuprobe::inline service
