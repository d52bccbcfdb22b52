// SPDX-License-Identifier: Apache-2.0
#include "store/feedback.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/accounts.h"
#include "base/value.h"

namespace gpuprobe::store {
namespace {

constexpr Bytes kMaxFeedbackFile = mib(4);

/// Never subtracts from the time in the file: it may be the smallest representable number.
bool is_expired(const FailedChoice& failure, WallTime now) {
    // A report from the future was made before the clock was set back.
    return failure.at <= now - Outcomes::kLasts || failure.at > now + Outcomes::kLasts;
}

/// Whether both are reports by the same user about the same choice, on any GPU.
bool is_about(const FailedChoice& known, const FailedChoice& choice) {
    return known.uid == choice.uid && known.consumer == choice.consumer &&
           known.choice == choice.choice;
}

/// Without `find`, each uid is its own account.
Outcomes::Account account_of(std::uint32_t uid, const Outcomes::AccountOf& find) {
    return find ? find(uid) : Outcomes::Account{.id = uid};
}

/// The entries must include a report of that account. They are sorted by age, so the first match is
/// the oldest.
void drop_oldest_of(std::uint32_t account,
                    const Outcomes::AccountOf& find,
                    Outcomes::Entries& entries) {
    entries.erase(std::ranges::find_if(entries, [&](const FailedChoice& entry) {
        return account_of(entry.uid, find).id == account;
    }));
}

/// Makes space for one more report by `uid`. If its account already has kMaxPerUser reports, its
/// oldest is dropped. If there are kMaxAll reports, the account with the most reports loses its
/// oldest; accounts unknown to this machine ("strangers") come before known ones. Reports by root
/// stay, and a stranger never displaces a known user. Returns false if no report may be dropped.
bool make_room(std::uint32_t uid, const Outcomes::AccountOf& find, Outcomes::Entries& entries) {
    std::map<Outcomes::Account, std::size_t> counts;
    for (const auto& entry : entries)
        ++counts[account_of(entry.uid, find)];
    const auto own = account_of(uid, find);
    if (const auto found = counts.find(own);
        found != counts.end() && found->second >= Outcomes::kMaxPerUser) {
        drop_oldest_of(own.id, find, entries);
        return true;
    }
    if (entries.size() < Outcomes::kMaxAll)
        return true;
    // The full list is shared: remove the accounts that may not lose a report to this caller.
    std::erase_if(counts, [&own](const auto& entry) {
        return entry.first.id == kRoot || (own.is_stranger && !entry.first.is_stranger);
    });
    // The pair sorts strangers above users, then by number of reports.
    const auto most = std::ranges::max_element(counts, {}, [](const auto& entry) {
        return std::pair{entry.first.is_stranger, entry.second};
    });
    if (most == counts.end())
        return false;
    drop_oldest_of(most->first.id, find, entries);
    return true;
}

}  // namespace

template <class Entries>
KeptEntries<Entries>::KeptEntries(std::optional<std::string> path,
                                  std::string_view kind,
                                  std::string_view member,
                                  std::size_t most)
    : kind_{kind}, member_{member}, most_{most} {
    if (path)
        file_.emplace(std::move(*path), kind, 1, kMaxFeedbackFile);
}

template <class Entries>
Status KeptEntries<Entries>::load() {
    if (!file_)
        return Done{};
    return file_->take([this](const Value& document) -> Status {
        Entries entries;
        const auto problem = read_value(document.at(member_), entries);
        if (!problem.empty())
            return Error{ErrorCode::Malformed, kind_ + ": " + problem.text()};
        if (entries.size() > most_)
            return Error{ErrorCode::TooLarge, kind_ + ": too many"};
        entries_ = std::move(entries);
        return Done{};
    });
}

template <class Entries>
Status KeptEntries<Entries>::claim() {
    if (file_ && TRY(file_->claim()))
        (void)load();  // if the file can't be read, load() has set it aside
    return Done{};
}

template <class Entries>
Status KeptEntries<Entries>::replace(Entries entries) {
    if (file_) {
        Value document;
        document[member_] = to_value(entries);
        TRY(file_->save(document));
    }
    entries_ = std::move(entries);
    return Done{};
}

// The members are defined in this file, so both uses are instantiated here.
template class KeptEntries<Overrides::Entries>;
template class KeptEntries<Outcomes::Entries>;

Overrides::Overrides(std::optional<std::string> path)
    : kept_{std::move(path), "overrides", "overrides", kMaxConsumers} {}

Status Overrides::set(const std::string& consumer, Override entry) {
    if (json_line(entry.rule).size() > kMaxRule.count)
        return Error{ErrorCode::TooLarge, "override: over 8 KiB"};
    TRY(kept_.claim());
    auto entries = all();
    entries.insert_or_assign(consumer, std::move(entry));
    if (entries.size() > kMaxConsumers)
        return Error{ErrorCode::TooManyRequests, "override: there are 256 consumers with one"};
    return kept_.replace(std::move(entries));
}

Result<bool> Overrides::clear(const std::string& consumer) {
    // Claim first, because that reloads a file that has changed. But without an override to clear,
    // the caller gets false even if the file can't be claimed.
    const auto claimed = kept_.claim();
    auto entries = all();
    if (entries.erase(consumer) == 0)
        return false;
    TRY(claimed);
    TRY(kept_.replace(std::move(entries)));
    return true;
}

const Override* Overrides::find(const std::string& consumer) const {
    const auto found = all().find(consumer);
    return found == all().end() ? nullptr : &found->second;
}

Outcomes::Outcomes(std::optional<std::string> path)
    : kept_{std::move(path), "outcomes", "failures", kMaxAll} {}

Status Outcomes::failed(FailedChoice failure, const AccountOf& account_of) {
    TRY(kept_.claim());
    auto entries = all();
    // Drop expired reports and an earlier report about the same choice on the same GPU.
    std::erase_if(entries, [&](const FailedChoice& known) {
        return is_expired(known, failure.at) ||
               (is_about(known, failure) && known.gpu == failure.gpu);
    });
    if (!make_room(failure.uid, account_of, entries))
        return Error{ErrorCode::TooManyRequests, "outcome: there are 1024 reported failures"};
    entries.push_back(std::move(failure));
    return kept_.replace(std::move(entries));
}

Status Outcomes::worked(const FailedChoice& choice) {
    // As in Overrides::clear(): a failed claim matters only if there is something to forget.
    const auto claimed = kept_.claim();
    auto entries = all();
    const auto forgotten = std::erase_if(entries, [&choice](const FailedChoice& known) {
        return is_about(known, choice) && (!choice.gpu || !known.gpu || known.gpu == choice.gpu);
    });
    if (forgotten == 0)
        return Done{};
    TRY(claimed);
    return kept_.replace(std::move(entries));
}

Outcomes::Entries Outcomes::counting_for(std::uint32_t uid,
                                         const std::string& consumer,
                                         WallTime now) const {
    Entries counting;
    for (const auto& failure : all())
        if ((failure.uid == uid || failure.uid == kRoot) && failure.consumer == consumer &&
            !is_expired(failure, now))
            counting.push_back(failure);
    return counting;
}

bool Outcomes::has_own(std::uint32_t uid) const {
    return std::ranges::find(all(), uid, &FailedChoice::uid) != all().end();
}

}  // namespace gpuprobe::store
