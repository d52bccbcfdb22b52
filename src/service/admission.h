// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include <sys/types.h>

#include "base/accounts.h"
#include "base/files.h"
#include "base/result.h"
#include "base/units.h"

namespace gpuprobe::inline service {

/// Classes of callers, used to divide a shared resource when there isn't enough for everyone.
enum class Standing {
    Stranger,  ///< a uid without an account on this machine
    User,      ///< a uid with an account on this machine
    Root
};

/// The account that a call is charged to.
struct Payer {
    uid_t id = 0;  ///< the caller's uid; for a subordinate uid, the owner's uid
    Standing standing = Standing::Stranger;
    std::uint64_t rank = 0;     ///< position in the order of first calls
    bool has_returned = false;  ///< whether the first call was more than Payers::kRecently ago
    bool operator==(const Payer& other) const { return id == other.id; }
};

/// Finds the account behind a uid.
///
/// One person can have 65,536 subordinate uids and start a process with each of them. Limits per
/// uid would give that person 65,536 times the share of everyone else, so subordinate uids are
/// charged to their owner. Ranges that root owns belong to containers: each block of 65,536 uids
/// counts as one account. Uids with neither an account nor an owner are strangers; all strangers
/// share the part of a resource that is reserved for them.
/// Sources: passwd(5), subuid(5). Directory services aren't queried, because a query could block;
/// a logged-in user from a directory service has a file in /run/systemd/users.
class Payers {
public:
    static constexpr std::size_t kMaxRemembered = 4096;
    static constexpr Duration kMemory = std::chrono::hours{1};
    static constexpr Duration kRecently = std::chrono::minutes{1};
    /// the account files are read again after this time
    static constexpr Duration kReread = std::chrono::minutes{1};

    /// `files`: the files of the machine that the daemon runs on. Both arguments must outlive this
    /// object.
    Payers(const FileSystem& files, const Clock& clock) : files_{files}, clock_{clock} {}

    /// The account for a uid; remembers the uid as a caller.
    [[nodiscard]] Payer of(uid_t uid);

private:
    struct Range {
        uid_t first = 0;
        std::uint64_t count = 0;
        uid_t owner = 0;
    };
    struct Remembered {
        Payer payer = {};
        MonotonicTime first_seen = {};
        MonotonicTime last_seen = {};
        MonotonicTime resolved = {};
    };
    void read_accounts(MonotonicTime now);
    [[nodiscard]] Payer resolved(uid_t uid) const;
    void make_room(MonotonicTime now);

    const FileSystem& files_;
    const Clock& clock_;
    std::optional<MonotonicTime> read_at_ = {};
    std::set<uid_t> users_ = {};
    std::vector<Range> ranges_ = {};
    std::map<uid_t, Remembered> known_ = {};
    std::uint64_t last_rank_ = 0;
};

/// A bounded amount of a resource that all payers share.
///
/// Half of the resource belongs to strangers and half to users. Each class may borrow from the
/// other class's half until the other class needs that half. Root has a separate share. Each payer
/// gets `always` even if nothing is left, so that other payers can't lock a payer out.
class SharedPool {
public:
    struct Limits {
        std::size_t all = 0;     ///< maximum for all payers together, except root
        std::size_t one = 0;     ///< maximum for one payer
        std::size_t always = 0;  ///< amount that each payer gets, regardless of other payers
        std::size_t root = 0;    ///< maximum for root
    };
    explicit SharedPool(const Limits& limits) : limits_{limits} {}

    /// Whether the payer may take `amount` more of a resource that holders give back soon. The
    /// payer's new total must fit into the free part of the resource.
    [[nodiscard]] bool has_room(const Payer& payer, std::size_t amount = 1) const;

    /// The answer for a resource that can be taken back from its holders.
    struct Offer {
        bool is_accepted = false;
        /// If the payer may not take the amount, this is another payer, who must give something
        /// back before offer() is called again.
        std::optional<uid_t> holder = {};
    };
    /// Whether the payer may take `amount` more, if necessary after another payer gave back enough.
    [[nodiscard]] Offer offer(const Payer& payer, std::size_t amount = 1) const;

    /// Takes `amount` if has_room(). The amount is given back when the last copy of the claim is
    /// destroyed, which must happen before the pool is destroyed. Errors: TooManyRequests, with the
    /// message `refusal`.
    using Claim = std::shared_ptr<const void>;  // shared, because callbacks are copied
    Result<Claim> claim(const Payer& payer, std::size_t amount, const char* refusal);

    void take(const Payer& payer, std::size_t amount = 1);
    void give_back(const Payer& payer, std::size_t amount = 1);
    [[nodiscard]] std::size_t held_by(uid_t payer) const;
    [[nodiscard]] std::size_t total() const;

private:
    struct Holder {
        Payer payer = {};
        std::size_t amount = 0;
    };
    /// Tuples of amount, rank and id. The last entry is the payer that holds the most; on a tie,
    /// the newest payer.
    using Order = std::set<std::tuple<std::size_t, std::uint64_t, uid_t>>;
    [[nodiscard]] bool is_always_granted(const Payer& payer) const;
    void set(Holder& holder, std::size_t amount);

    Limits limits_;
    std::map<uid_t, Holder> holders_ = {};
    std::array<Order, 3> order_ = {};        ///< the order of the holders, by standing
    std::array<std::size_t, 3> total_ = {};  ///< the total amount, by standing
};

/// A rate limit for expensive calls, such as a probe or a write to the disk.
class CallRate {
public:
    static constexpr unsigned kCalls = 30;  ///< maximum for one payer within kWindow
    static constexpr unsigned kAlways = 2;  ///< granted to each payer, regardless of other payers
    static constexpr unsigned kStrangers = 300;     ///< maximum for all strangers together
    static constexpr unsigned kUsers = 3000;        ///< maximum for all users together
    static constexpr std::size_t kMaxFirst = 2048;  ///< new strangers whose first call is granted
    static constexpr Duration kWindow = std::chrono::minutes{1};

    explicit CallRate(const Clock& clock) : clock_{clock} {}

    /// Counts a call. Errors: TooManyRequests if the payer, or its whole class, made too many calls
    /// within the window. Root has no limit.
    Status take(const Payer& payer);

private:
    const Clock& clock_;
    std::optional<MonotonicTime> since_ = {};
    std::map<uid_t, unsigned> calls_ = {};
    unsigned strangers_ = 0;
    unsigned users_ = 0;
    std::size_t first_ = 0;
};

/// Limits the size of the replies that one bus client gets as strings. Replies in file descriptors
/// aren't limited.
///
/// Measured with dbus-daemon 1.14: if a few clients request large replies and never read them, the
/// bus stops accepting messages from the daemon, and no client gets an answer. Replies with a
/// descriptor don't have this effect.
class InlineBudget {
public:
    static constexpr Bytes kMaxReply = kib(256);
    static constexpr Bytes kPerSender = mib(8);
    static constexpr Duration kWindow = std::chrono::seconds{10};
    /// if there are more senders, the oldest is dropped
    static constexpr std::size_t kMaxSenders = 1024;

    explicit InlineBudget(const Clock& clock) : clock_{clock} {}

    /// Charges a reply to the sender. Errors: TooLarge if the reply exceeds kMaxReply;
    /// TooManyRequests if the sender got more than kPerSender within the window.
    Status take(const std::string& sender, Bytes size);

private:
    struct Account {
        Bytes used = {};
        MonotonicTime since = {};
    };

    const Clock& clock_;
    std::map<std::string, Account> accounts_ = {};
};

inline constexpr const char* kTooManyReadings = "too many calls for GPU memory are pending";
inline constexpr const char* kTooMuchWaits = "too many bytes of this user's calls are pending";
inline constexpr const char* kTooManyProbes = "too many calls that wait for probes are pending";

/// All limits on callers. Callers on the bus and on the socket share these limits.
///
/// The total memory that callers can use stays below 64 MiB. Each limit is a total, so having many
/// uids does not help a caller.
struct Admission {
    Admission(const FileSystem& files, const Clock& clock)
        : payers{files, clock}, calls{clock}, text{clock} {}

    Payers payers;
    /// Calls that wait for probes or for a write to the disk.
    SharedPool probes{{.all = 64, .one = 8, .always = 1, .root = 8}};
    /// Calls that wait for a reading of GPU memory.
    SharedPool readings{{.all = 2048, .one = 512, .always = 1, .root = 512}};
    /// Bytes of unanswered calls and of unread answers.
    SharedPool memory{
        {.all = mib(16).count, .one = mib(8).count, .always = kib(4).count, .root = mib(8).count}};
    /// Pending polkit checks.
    SharedPool questions{{.all = 64, .one = 8, .always = 1, .root = 8}};
    CallRate calls;
    InlineBudget text;
};

}  // namespace gpuprobe::inline service
