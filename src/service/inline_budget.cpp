// SPDX-License-Identifier: Apache-2.0
#include "service/inline_budget.h"

namespace gpuprobe::inline service {

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
