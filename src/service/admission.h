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

/// Who gets a shared resource first when there is not enough for everyone.
enum class Standing {
    Stranger,  ///< a uid that this machine has no account for
    User,      ///< an account of this machine
    Root
};

/// The account that a call is charged to.
struct Payer {
    uid_t id = 0;  ///< of subordinate uids the owner's
    Standing standing = Standing::Stranger;
    std::uint64_t rank = 0;     ///< order of first calls: a lower rank called earlier
    bool has_returned = false;  ///< it called before the last Payers::kRecently
    bool operator==(const Payer& other) const { return id == other.id; }
};

/// Finds the account behind a uid.
///
/// One person can have 65,536 subordinate uids, and start a process with each of them. Limits for
/// each uid would give that person 65,536 times what everybody else gets, so subordinate uids are
/// charged to their owner. Ranges that root owns belong to containers: each block of 65,536 uids
/// counts as one account. Uids with neither an account nor an owner are strangers, who share what
/// is set aside for all of them.
/// Sources: passwd(5), subuid(5); /run/systemd/users has a file for each user who is logged in, and
/// so for users of a directory service, which is not asked: that could block.
class Payers {
public:
    static constexpr std::size_t kMaxRemembered = 4096;
    static constexpr Duration kMemory = std::chrono::hours{1};
    static constexpr Duration kRecently = std::chrono::minutes{1};
    static constexpr Duration kReread = std::chrono::minutes{1};  ///< of the account files

    /// `files`: of the machine that the daemon runs on. Both must outlive this.
    Payers(const FileSystem& files, const Clock& clock) : files_{files}, clock_{clock} {}

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

/// A bounded amount of something that all payers share.
///
/// Half of it belongs to strangers and half to users; either half may be lent to the other until it
/// is needed. Root has a share of its own. `always` is granted even when nothing is left, so that
/// nobody is kept out by others.
class SharedPool {
public:
    struct Limits {
        std::size_t all = 0;     ///< of everybody but root
        std::size_t one = 0;     ///< of one payer
        std::size_t always = 0;  ///< of one payer, whatever others have
        std::size_t root = 0;
    };
    explicit SharedPool(const Limits& limits) : limits_{limits} {}

    /// For what is given back soon by itself: whether the payer may take `amount` more. No payer
    /// gets more than what it leaves for the next one.
    [[nodiscard]] bool has_room(const Payer& payer, std::size_t amount = 1) const;

    /// For what can be taken back: whether the payer may take `amount` more once `holder`, if there
    /// is one, has given back enough. Ask again after each payer that gave something back.
    struct Offer {
        bool is_accepted = false;
        std::optional<uid_t> holder = {};
    };
    [[nodiscard]] Offer offer(const Payer& payer, std::size_t amount = 1) const;

    /// Takes `amount`, if has_room(), and gives it back when the last copy of the answer goes. The
    /// pool must outlive that. Errors: TooManyRequests, with `refusal` as its text.
    using Claim = std::shared_ptr<const void>;  // callbacks are copied
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
    /// Amount, rank, id: the last one holds the most, and of those with as much is the newest.
    using Order = std::set<std::tuple<std::size_t, std::uint64_t, uid_t>>;
    [[nodiscard]] bool is_always_granted(const Payer& payer) const;
    void set(Holder& holder, std::size_t amount);

    Limits limits_;
    std::map<uid_t, Holder> holders_ = {};
    std::array<Order, 3> order_ = {};        ///< by standing
    std::array<std::size_t, 3> total_ = {};  ///< by standing
};

/// How often calls may be made that cost more than an answer, such as a write to the disk or a
/// probe.
class CallRate {
public:
    static constexpr unsigned kCalls = 30;          ///< of one payer within kWindow
    static constexpr unsigned kAlways = 2;          ///< of one payer, whatever others do
    static constexpr unsigned kStrangers = 300;     ///< of all strangers
    static constexpr unsigned kUsers = 3000;        ///< of all users
    static constexpr std::size_t kMaxFirst = 2048;  ///< new strangers whose first call is granted
    static constexpr Duration kWindow = std::chrono::minutes{1};

    explicit CallRate(const Clock& clock) : clock_{clock} {}

    /// Errors: TooManyRequests when the payer, or all strangers, made too many calls within the
    /// window. Root has no limit.
    Status take(const Payer& payer);

private:
    const Clock& clock_;
    std::optional<MonotonicTime> since_ = {};
    std::map<uid_t, unsigned> calls_ = {};
    unsigned strangers_ = 0;
    unsigned users_ = 0;
    std::size_t first_ = 0;
};

/// How much text one caller on the bus may get in messages, as opposed to file descriptors.
///
/// Measured with dbus-daemon 1.14: when a few callers ask for large replies and never read them,
/// the bus stops taking messages from the daemon, and nobody is answered. Replies with a descriptor
/// do not have that effect.
class InlineBudget {
public:
    static constexpr Bytes kMaxReply = kib(256);
    static constexpr Bytes kPerSender = mib(8);
    static constexpr Duration kWindow = std::chrono::seconds{10};
    static constexpr std::size_t kMaxSenders = 1024;  ///< the one seen first is forgotten

    explicit InlineBudget(const Clock& clock) : clock_{clock} {}

    /// Errors: TooLarge for more than one reply may hold; TooManyRequests when the sender got too
    /// much within the window.
    Status take(const std::string& sender, Bytes size);

private:
    struct Account {
        Bytes used = {};
        MonotonicTime since = {};
    };

    const Clock& clock_;
    std::map<std::string, Account> accounts_ = {};
};

inline constexpr const char* kTooManyReadings = "too many calls wait for the GPUs' memory";
inline constexpr const char* kTooMuchWaits = "too much of this user's calls waits";
inline constexpr const char* kTooManyProbes = "too many probes are waited for";

/// What callers may use of the daemon, on the bus and on the socket together.
///
/// All of it stays below 64 MiB. Each limit is a total: how many uids a caller has makes no
/// difference.
struct Admission {
    Admission(const FileSystem& files, const Clock& clock)
        : payers{files, clock}, calls{clock}, text{clock} {}

    Payers payers;
    /// Calls that wait for probes, or for a write to the disk.
    SharedPool probes{{.all = 64, .one = 8, .always = 1, .root = 8}};
    /// Calls that wait for one reading of a GPU's memory.
    SharedPool readings{{.all = 2048, .one = 512, .always = 1, .root = 512}};
    /// Bytes of calls that have not been answered, and of answers that have not been read.
    SharedPool memory{
        {.all = mib(16).count, .one = mib(8).count, .always = kib(4).count, .root = mib(8).count}};
    /// Questions to polkit.
    SharedPool questions{{.all = 64, .one = 8, .always = 1, .root = 8}};
    CallRate calls;
    InlineBudget text;
};

}  // namespace gpuprobe::inline service
