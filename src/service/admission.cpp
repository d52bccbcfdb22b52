// SPDX-License-Identifier: Apache-2.0
#include "service/admission.h"

#include <algorithm>

#include "base/text.h"

namespace gpuprobe::inline service {
namespace {

constexpr Bytes kMaxAccountFile = mib(4);
/// The number of uids that a container usually gets. In systemd-nspawn(1), ranges of uids are also
/// aligned to this number.
constexpr uid_t kContainerRange = 65'536;

/// The range that systemd reserves for services with DynamicUser=. Source: systemd,
/// docs/UIDS-GIDS.md.
constexpr uid_t kFirstDynamic = 61'184;
constexpr uid_t kLastDynamic = 65'519;

/// The index of a standing in arrays that have one entry for each standing.
std::size_t place_of(Standing standing) {
    return static_cast<std::size_t>(standing);
}

/// The users in a passwd(5) file by name, because subuid(5) may identify owners by name.
std::map<std::string, uid_t, std::less<>> users_in(const std::string& passwd) {
    std::map<std::string, uid_t, std::less<>> users;
    for (const auto line : split(std::string_view{passwd}, '\n')) {
        const auto fields = split(line, ':');
        const auto uid = fields.size() > 2 ? parse_number<uid_t>(fields[2]) : std::nullopt;
        if (uid)
            users.emplace(fields[0], *uid);
    }
    return users;
}

}  // namespace

// Payers -----------------------------------------------------------------------------------------

/// Reads passwd and subuid again if the last reading is at least kReread old.
void Payers::read_accounts(MonotonicTime now) {
    if (read_at_ && now - *read_at_ < kReread)
        return;
    read_at_ = now;
    users_.clear();
    ranges_.clear();
    const auto passwd = files_.read("/etc/passwd", kMaxAccountFile);
    const auto users = users_in(passwd ? *passwd : std::string{});
    for (const auto& [name, uid] : users)
        users_.insert(uid);
    const auto subuid = files_.read("/etc/subuid", kMaxAccountFile);
    if (!subuid)
        return;  // on many single-user machines this file is missing
    // Lines are "owner:first:count"; the owner is a name or a uid. Invalid lines are skipped.
    for (const auto line : split(std::string_view{*subuid}, '\n')) {
        const auto fields = split(line, ':');
        if (fields.size() != 3)
            continue;
        const auto named = users.find(fields[0]);
        const auto owner = named != users.end() ? named->second : parse_number<uid_t>(fields[0]);
        const auto first = parse_number<uid_t>(fields[1]);
        const auto count = parse_number<std::uint64_t>(fields[2]);
        if (owner && first && count)
            ranges_.push_back({.first = *first, .count = *count, .owner = *owner});
    }
}

/// Classifies a uid based on the files as they were last read. The result has no rank yet.
Payer Payers::resolved(uid_t uid) const {
    if (uid == kRoot)
        return {.id = uid, .standing = Standing::Root};
    if (users_.contains(uid))
        return {.id = uid, .standing = Standing::User};
    for (const auto& range : ranges_) {
        if (uid < range.first || uid - range.first >= range.count)
            continue;
        // Root's ranges are for containers, so charge the block of uids. For other ranges, charge
        // the owner.
        const auto block = (uid - range.first) / kContainerRange;
        return {.id = range.owner == kRoot ? range.first + block * kContainerRange : range.owner,
                .standing = Standing::User};
    }
    if (uid >= kFirstDynamic && uid <= kLastDynamic)
        return {.id = uid, .standing = Standing::User};
    if (files_.exists("/run/systemd/users/" + std::to_string(uid)))
        return {.id = uid, .standing = Standing::User};
    return {.id = uid, .standing = Standing::Stranger};
}

/// Drops uids that have made no call within kMemory or, if there are no such uids, drops the newest
/// uid. Early callers are kept, so that many new uids can't displace them.
void Payers::make_room(MonotonicTime now) {
    std::erase_if(known_,
                  [now](const auto& entry) { return now - entry.second.last_seen >= kMemory; });
    if (known_.size() < kMaxRemembered)
        return;
    const auto newest = std::ranges::max_element(
        known_, {}, [](const auto& entry) { return entry.second.payer.rank; });
    known_.erase(newest);
}

Payer Payers::of(uid_t uid) {
    const auto now = clock_.monotonic();
    auto known = known_.find(uid);
    // Classify a new uid. After kReread, classify a known uid again; the uid keeps its rank.
    if (known == known_.end() || now - known->second.resolved >= kReread) {
        read_accounts(now);
        auto payer = resolved(uid);
        if (known == known_.end()) {
            if (known_.size() >= kMaxRemembered)
                make_room(now);
            payer.rank = ++last_rank_;
            known = known_.emplace(uid, Remembered{.first_seen = now}).first;
        } else {
            payer.rank = known->second.payer.rank;
        }
        known->second.payer = payer;
        known->second.resolved = now;
    }
    auto& remembered = known->second;
    remembered.last_seen = now;
    remembered.payer.has_returned = now - remembered.first_seen >= kRecently;
    return remembered.payer;
}

// SharedPool -------------------------------------------------------------------------------------

std::size_t SharedPool::held_by(uid_t payer) const {
    const auto holder = holders_.find(payer);
    return holder == holders_.end() ? 0 : holder->second.amount;
}

std::size_t SharedPool::total() const {
    return total_[0] + total_[1] + total_[2];
}

/// Whether the payer gets Limits::always even if nothing is left. All strangers together also have
/// a limit, because one person may use any number of uids.
bool SharedPool::is_always_granted(const Payer& payer) const {
    return payer.standing != Standing::Stranger ||
           total_[place_of(Standing::Stranger)] < 2 * limits_.all;
}

bool SharedPool::has_room(const Payer& payer, std::size_t amount) const {
    const auto wanted = held_by(payer.id) + amount;
    if (wanted <= limits_.always && is_always_granted(payer))
        return true;
    if (payer.standing == Standing::Root)
        return total_[place_of(Standing::Root)] + amount <= limits_.root;
    const auto strangers = total_[place_of(Standing::Stranger)];
    const auto used = strangers + total_[place_of(Standing::User)];
    auto free = limits_.all - std::min(limits_.all, used);
    // In this pool nothing can be taken back, so strangers don't borrow from the users' half.
    if (payer.standing == Standing::Stranger)
        free = std::min(free, limits_.all / 2 - std::min(limits_.all / 2, strangers));
    // The payer's new total must fit into the free part. Therefore, the more a payer holds, the
    // more stays free for other payers.
    return wanted <= limits_.one && wanted <= free;
}

SharedPool::Offer SharedPool::offer(const Payer& payer, std::size_t amount) const {
    const auto wanted = held_by(payer.id) + amount;
    const auto own = total_[place_of(payer.standing)];
    if (payer.standing == Standing::Root)
        return {.is_accepted = own + amount <= limits_.root};
    if (wanted > limits_.one)
        return {};
    const auto others = payer.standing == Standing::User ? Standing::Stranger : Standing::User;
    const auto lent = total_[place_of(others)];
    // There is enough for everyone, or the amount is within the payer's guaranteed minimum.
    if ((wanted <= limits_.always && is_always_granted(payer)) ||
        own + lent + amount <= limits_.all)
        return {.is_accepted = true};
    // The other class has borrowed from this class's half: take from its largest holder.
    const auto half = limits_.all / 2;
    if (lent > half && own + amount <= half)
        return {.holder = std::get<uid_t>(*order_[place_of(others)].rbegin())};
    // Otherwise take from the largest holder of the same class, if that holder has more than this
    // payer would have. On a tie, the newer payer loses.
    const auto& order = order_[place_of(payer.standing)];
    const auto most = order.empty() ? Order::value_type{} : *order.rbegin();
    if (std::get<uid_t>(most) != payer.id && most > Order::value_type{wanted, payer.rank, payer.id})
        return {.holder = std::get<uid_t>(most)};
    return {};
}

Result<SharedPool::Claim> SharedPool::claim(const Payer& payer,
                                            std::size_t amount,
                                            const char* refusal) {
    if (!has_room(payer, amount))
        return Error{ErrorCode::TooManyRequests, refusal};
    take(payer, amount);
    return Claim{this, [this, payer, amount](const void*) { give_back(payer, amount); }};
}

/// Changes a holder's amount, and updates the order and the totals.
void SharedPool::set(Holder& holder, std::size_t amount) {
    const auto place = place_of(holder.payer.standing);
    order_[place].erase({holder.amount, holder.payer.rank, holder.payer.id});
    total_[place] += amount - holder.amount;
    holder.amount = amount;
    if (amount > 0)
        order_[place].insert({amount, holder.payer.rank, holder.payer.id});
}

void SharedPool::take(const Payer& payer, std::size_t amount) {
    if (amount == 0)
        return;
    auto& holder = holders_.try_emplace(payer.id, Holder{.payer = payer}).first->second;
    set(holder, holder.amount + amount);
}

void SharedPool::give_back(const Payer& payer, std::size_t amount) {
    const auto holder = holders_.find(payer.id);
    if (holder == holders_.end())
        return;
    set(holder->second, holder->second.amount - std::min(amount, holder->second.amount));
    if (holder->second.amount == 0)
        holders_.erase(holder);
}

// CallRate ---------------------------------------------------------------------------------------

Status CallRate::take(const Payer& payer) {
    if (payer.standing == Standing::Root)
        return Done{};
    const auto now = clock_.monotonic();
    if (!since_ || now - *since_ >= kWindow) {
        since_ = now;
        calls_.clear();
        strangers_ = users_ = 0;
        first_ = 0;
    }
    // A payer's own limit comes first, then the limit of its class.
    const bool is_stranger = payer.standing == Standing::Stranger;
    auto& of_class = is_stranger ? strangers_ : users_;
    const auto own = calls_.find(payer.id);
    const auto made = own == calls_.end() ? 0U : own->second;
    if (made >= kCalls)
        return Error{ErrorCode::TooManyRequests, "more than 30 such calls a minute"};
    // Some calls are granted even if the class has used up its limit: the first call of a new
    // stranger (for up to kMaxFirst strangers), and kAlways calls of everyone else.
    const bool is_new = is_stranger && !payer.has_returned;
    const bool is_granted = is_new ? made == 0 && first_ < kMaxFirst : made < kAlways;
    if (!is_granted && of_class >= (is_stranger ? kStrangers : kUsers))
        return Error{ErrorCode::TooManyRequests,
                     "too many such calls from other users; try again in a minute"};
    first_ += is_granted && is_new ? 1 : 0;
    ++of_class;
    ++calls_[payer.id];
    return Done{};
}

// InlineBudget -----------------------------------------------------------------------------------

Status InlineBudget::take(const std::string& sender, Bytes size) {
    if (size > kMaxReply)
        return Error{ErrorCode::TooLarge, "the report is too large for a reply; use DescribeFd"};
    // Drop the senders whose window is over; if that isn't enough, drop the oldest sender.
    const auto now = clock_.monotonic();
    std::erase_if(accounts_,
                  [now](const auto& entry) { return now - entry.second.since >= kWindow; });
    if (accounts_.size() >= kMaxSenders && !accounts_.contains(sender))
        accounts_.erase(std::ranges::min_element(
            accounts_, {}, [](const auto& entry) { return entry.second.since; }));
    auto& account = accounts_.try_emplace(sender, Account{.since = now}).first->second;
    if (account.used.count + size.count > kPerSender.count)
        return Error{ErrorCode::TooManyRequests, "too much text in a short time; use DescribeFd"};
    account.used.count += size.count;
    return Done{};
}

}  // namespace gpuprobe::inline service
