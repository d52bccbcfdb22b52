// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/record.h"
#include "base/result.h"
#include "store/checked_file.h"

namespace gpuprobe::store {

/// A rule that an administrator set for one consumer; policy/override_rule.h says what it means.
struct Override {
    Value rule = {};
    WallTime set_at = {};
    std::uint32_t set_by = 0;  ///< uid
    bool operator==(const Override&) const = default;
};
RECORD_MEMBERS(Override, rule, ("set_at_usec", set_at), ("set_by_uid", set_by))

/// A choice that did not work, as a caller reported it.
struct FailedChoice {
    std::uint32_t uid = 0;
    std::string consumer = {};               ///< or product
    std::string choice = {};                 ///< backend, or a variant's family
    std::optional<std::string> gpu = {};     ///< id; absent: whatever the GPU
    std::string fingerprint = {};            ///< of the drivers below it when it failed
    std::optional<std::string> detail = {};  ///< the caller's words
    WallTime at = {};
    bool operator==(const FailedChoice&) const = default;
};
RECORD_MEMBERS(FailedChoice, uid, consumer, choice, gpu, fingerprint, detail, ("at_usec", at))

/// A collection that is kept in one file, or in memory alone where there is no file. The file
/// changes first: when it can't be written, the collection has not changed either.
template <class Entries>
class KeptEntries {
public:
    /// `kind` names the file's format, `member` where the document holds the entries; a file with
    /// more than `most` of them is refused.
    KeptEntries(std::optional<std::string> path,
                std::string_view kind,
                std::string_view member,
                std::size_t most);

    /// Reads the file. Errors: as CheckedFile::load() but NotFound, which means no entries; the
    /// file has then been set aside and there are none.
    Status load();
    /// Becomes the file's only writer; call it before reading what is about to be changed, because
    /// another process may have written since load(). Errors: those of CheckedFile::claim().
    Status claim();
    /// Errors: those of CheckedFile::save(); nothing has changed then.
    Status replace(Entries entries);
    [[nodiscard]] const Entries& all() const { return entries_; }

private:
    std::string kind_;
    std::string member_;
    std::size_t most_ = 0;
    std::optional<CheckedFile> file_ = {};
    Entries entries_ = {};
};

/// The overrides of this machine, by consumer.
class Overrides {
public:
    using Entries = std::map<std::string, Override>;
    static constexpr std::size_t kMaxConsumers = 256;
    static constexpr Bytes kMaxRule = kib(8);

    /// Without a file they last as long as this object.
    explicit Overrides(std::optional<std::string> path);

    /// Errors: those of KeptEntries::load().
    Status load() { return kept_.load(); }
    /// Errors: TooLarge for a rule, TooManyRequests over kMaxConsumers, and those of
    /// CheckedFile::claim() and saving; nothing has changed then.
    Status set(const std::string& consumer, Override entry);
    /// False when there was none. Errors: those of saving; nothing has changed then.
    Result<bool> clear(const std::string& consumer);

    /// Null when there is none. Valid until the next change.
    [[nodiscard]] const Override* find(const std::string& consumer) const;
    [[nodiscard]] const Entries& all() const { return kept_.all(); }

private:
    KeptEntries<Entries> kept_;
};

/// What failed recently, by caller. A report by root counts for everybody, any other one for that
/// user alone. It is forgotten after kLasts, when the same caller reports success, and when the
/// drivers below it change.
class Outcomes {
public:
    using Entries = std::vector<FailedChoice>;  // oldest first
    static constexpr Duration kLasts = std::chrono::hours{7 * 24};
    static constexpr std::size_t kMaxPerUser = 64;  ///< a further one replaces the oldest
    static constexpr std::size_t kMaxAll = 1024;    ///< a further one replaces another user's
    static constexpr std::size_t kMaxDetail = 512;  ///< bytes; the caller of failed() cuts it

    /// Without a file they last as long as this object.
    explicit Outcomes(std::optional<std::string> path);

    /// Errors: those of KeptEntries::load().
    Status load() { return kept_.load(); }
    /// The account that a uid's reports count for.
    struct Account {
        std::uint32_t id = 0;
        bool is_stranger = false;  ///< this machine has no account for it
        auto operator<=>(const Account&) const = default;
    };
    using AccountOf = std::function<Account(std::uint32_t uid)>;
    /// Replaces an earlier report of the same caller about the same choice. Errors: TooManyRequests
    /// if kMaxAll are kept that a stranger can't replace, and those of saving; nothing has changed
    /// then.
    Status failed(FailedChoice failure, const AccountOf& account_of = {});
    /// Forgets what that user reported about the choice; without a GPU, on every GPU. Errors: those
    /// of saving.
    Status worked(const FailedChoice& choice);

    /// Those that count for `uid` asking for `consumer` at the instant `now`, oldest first.
    [[nodiscard]] Entries counting_for(std::uint32_t uid,
                                       const std::string& consumer,
                                       WallTime now) const;
    /// Whether this user has reported failures, so that its decisions may differ from other
    /// people's.
    [[nodiscard]] bool has_own(std::uint32_t uid) const;
    [[nodiscard]] const Entries& all() const { return kept_.all(); }

private:
    KeptEntries<Entries> kept_;
};

}  // namespace gpuprobe::store
