// SPDX-License-Identifier: Apache-2.0
#include "store/outcomes.h"

#include <algorithm>

namespace gpuprobe {
namespace {

constexpr Bytes kMaxFile = mib(4);
constexpr std::uint32_t kRoot = 0;

/// Nothing is subtracted from what a file says: it may be as long ago as numbers go.
bool is_expired(const FailedChoice& failure, WallTime now) {
    return failure.at <= now - Outcomes::kLasts;
}

bool is_about(const FailedChoice& known, const FailedChoice& choice) {
    return known.uid == choice.uid && known.consumer == choice.consumer &&
           known.choice == choice.choice;
}

Result<std::vector<FailedChoice>> entries_from(const Value& document) {
    std::vector<FailedChoice> entries;
    const auto problem = read_value(document.at("failures"), entries);
    if (!problem.empty())
        return Error{ErrorCode::Malformed, "outcomes: " + problem.text()};
    if (entries.size() > Outcomes::kMaxAll)
        return Error{ErrorCode::TooLarge, "outcomes: too many"};
    return entries;
}

/// Makes room for one more of that user.
void drop_oldest_of(std::uint32_t uid, std::vector<FailedChoice>& entries) {
    const auto count = std::ranges::count(entries, uid, &FailedChoice::uid);
    if (static_cast<std::size_t>(count) < Outcomes::kMaxPerUser)
        return;
    entries.erase(std::ranges::find(entries, uid, &FailedChoice::uid));
}

}  // namespace

Outcomes::Outcomes(std::optional<std::string> path) {
    if (path)
        file_.emplace(std::move(*path), "outcomes", 1, kMaxFile);
}

Status Outcomes::load() {
    if (!file_)
        return Done{};
    return file_->take([this](const Value& document) -> Status {
        entries_ = TRY(entries_from(document));
        return Done{};
    });
}

/// Before anything is changed: another process may have written since this one read.
Status Outcomes::own() {
    if (file_ && TRY(file_->claim()))
        (void)load();  // what can't be read has been set aside
    return Done{};
}

Status Outcomes::adopt(std::vector<FailedChoice> entries) {
    if (file_) {
        Value document;
        document["failures"] = to_value(entries);
        TRY(file_->save(document));
    }
    entries_ = std::move(entries);
    return Done{};
}

Status Outcomes::failed(FailedChoice failure) {
    TRY(own());
    auto entries = entries_;
    std::erase_if(entries, [&](const FailedChoice& known) {
        return is_expired(known, failure.at) ||
               (is_about(known, failure) && known.gpu == failure.gpu);
    });
    drop_oldest_of(failure.uid, entries);
    if (entries.size() >= kMaxAll)
        return Error{ErrorCode::TooManyRequests, "outcome: there are 1024 reported failures"};
    entries.push_back(std::move(failure));
    return adopt(std::move(entries));
}

Status Outcomes::worked(const FailedChoice& choice) {
    const auto owned = own();
    auto entries = entries_;
    const auto forgotten = std::erase_if(entries, [&choice](const FailedChoice& known) {
        return is_about(known, choice) && (!choice.gpu || !known.gpu || known.gpu == choice.gpu);
    });
    if (forgotten == 0)
        return Done{};
    TRY(owned);
    return adopt(std::move(entries));
}

std::vector<FailedChoice> Outcomes::counting_for(std::uint32_t uid,
                                                 const std::string& consumer,
                                                 WallTime now) const {
    std::vector<FailedChoice> counting;
    for (const auto& failure : entries_)
        if ((failure.uid == uid || failure.uid == kRoot) && failure.consumer == consumer &&
            !is_expired(failure, now))
            counting.push_back(failure);
    return counting;
}

bool Outcomes::has_own(std::uint32_t uid) const {
    return std::ranges::find(entries_, uid, &FailedChoice::uid) != entries_.end();
}

}  // namespace gpuprobe
