// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"

namespace gpuprobe::store {

/// A JSON document on disk. A document is accepted only if it is complete and its checksum is
/// correct.
///
/// The file's first line is "gpuprobe-<kind> <version> <crc32 of the rest>"; the document follows.
/// A reader gets either the old or the new document, never a mixture, even after a crash during a
/// write.
class CheckedFile {
public:
    /// `path`: the file, whose folder must exist when the file is saved. `kind`: the kind of
    /// document, one word. `limit`: the largest size that is read.
    CheckedFile(std::string path, std::string_view kind, int version, Bytes limit);

    /// Reads the document. Errors: NotFound; Malformed for another kind or version, a wrong
    /// checksum, or text that is not JSON; TooLarge; PermissionDenied for a file that another user
    /// owns or can write to; Io if the path isn't a regular file. The message of each error is
    /// "path: reason".
    [[nodiscard]] Result<Value> load() const;
    /// The results of lock_file() for "path.lock", and of load() under this lock.
    struct LockAndDocument {
        Result<UniqueFd> lock;
        Result<Value> document;
    };
    [[nodiscard]] LockAndDocument lock_and_load() const;
    /// Passes the document to `read` if the file exists. Sets the file aside if it can't be loaded
    /// or if `read` refuses the document. Errors: those of load() except NotFound, and any error
    /// from `read`.
    Status take(const std::function<Status(const Value& document)>& read) const;
    /// Replaces the file. Errors: Io, PermissionDenied. On an error, the old file is kept.
    Status save(const Value& document) const;
    /// Makes this process the only writer until the process ends. Returns true on the first call,
    /// because data that was loaded before the call may be outdated. Errors: Io if another process
    /// is the writer, and the errors of save().
    Result<bool> claim();
    /// Renames the file to "path.broken", so that the next save does not overwrite it. An earlier
    /// broken file is replaced. Errors: Io, NotFound, PermissionDenied.
    Status set_aside() const;

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    [[nodiscard]] Result<Value> load_at(const FilePlace& place) const;

    std::string path_;
    std::string magic_;
    Bytes limit_;
    UniqueFd lock_ = {};  ///< the lock, held after claim()
};

/// A rule that an administrator set for one application.
struct Override {
    Value rule = {};
    WallTime set_at = {};
    std::uint32_t set_by = 0;  ///< uid of the administrator
    bool operator==(const Override&) const = default;
};
RECORD_MEMBERS(Override, rule, ("set_at_usec", set_at), ("set_by_uid", set_by))

/// A failed backend or variant, as a caller reported it.
struct FailedChoice {
    std::uint32_t uid = 0;
    std::string application = {};            ///< name of the application
    std::string choice = {};                 ///< backend, "variant:NAME" or "family:NAME"
    std::optional<std::string> gpu = {};     ///< id of the GPU; absent: any GPU
    std::string fingerprint = {};            ///< fingerprint of the drivers that the choice used
    std::optional<std::string> detail = {};  ///< the caller's message
    WallTime at = {};
    bool operator==(const FailedChoice&) const = default;
};
RECORD_MEMBERS(FailedChoice, uid, application, choice, gpu, fingerprint, detail, ("at_usec", at))

/// A collection that is stored in one file, or only in memory if it has no path. A change is
/// written to the file first: if the file can't be written, the collection stays unchanged.
template <class Entries>
class KeptEntries {
public:
    /// `kind` is the file's format, `member` the document's member that holds the entries. A file
    /// with more than `most` entries is refused.
    KeptEntries(std::optional<std::string> path,
                std::string_view kind,
                std::string_view member,
                std::size_t most);

    /// Reads the file. A missing file means an empty collection. Errors: those of
    /// CheckedFile::load() except NotFound; on an error, the file has been set aside and the
    /// collection is unchanged.
    Status load();
    /// Makes this object the file's only writer. Call this function before you read entries that
    /// you will change, because another process may have written the file since load(). Errors:
    /// those of CheckedFile::claim().
    Status claim();
    /// Replaces all entries. Errors: those of CheckedFile::save(). On an error, nothing has
    /// changed.
    Status replace(Entries entries);
    [[nodiscard]] const Entries& all() const { return entries_; }

private:
    std::string kind_;
    std::string member_;
    std::size_t most_ = 0;
    std::optional<CheckedFile> file_ = {};
    Entries entries_ = {};
};

/// The overrides of this machine, by application.
class Overrides {
public:
    using Entries = std::map<std::string, Override>;
    static constexpr std::size_t kMaxApplications = 256;
    static constexpr Bytes kMaxRule = kib(8);

    /// Without a path, the overrides last as long as this object.
    explicit Overrides(std::optional<std::string> path);

    /// Errors: those of KeptEntries::load().
    Status load() { return kept_.load(); }
    /// Adds or replaces an override. Errors: TooLarge if the rule is larger than kMaxRule;
    /// TooManyRequests if there are kMaxApplications overrides; also the errors of
    /// CheckedFile::claim() and CheckedFile::save(). On an error, nothing has changed.
    Status set(const std::string& application, Override entry);
    /// Removes an override; returns false if it does not exist. Errors: those of
    /// CheckedFile::claim() and CheckedFile::save(). On an error, nothing has changed.
    Result<bool> clear(const std::string& application);

    /// The override for that application, or null. Valid until the next change.
    [[nodiscard]] const Override* find(const std::string& application) const;
    [[nodiscard]] const Entries& all() const { return kept_.all(); }

private:
    KeptEntries<Entries> kept_;
};

/// Recently reported failures. A report by root counts for all users, any other report only for
/// the user who made it. A report is forgotten after kLasts, and when the same caller reports
/// success. A report also stops counting when the drivers change (engine/decision_service.h
/// compares the fingerprint).
class Outcomes {
public:
    using Entries = std::vector<FailedChoice>;  // oldest first
    static constexpr Duration kLasts = std::chrono::hours{7 * 24};
    /// if a user makes more reports, the oldest report is replaced
    static constexpr std::size_t kMaxPerUser = 64;
    /// if there are more reports, a report of another user is replaced
    static constexpr std::size_t kMaxAll = 1024;
    /// size in bytes; the caller of failed() shortens longer messages
    static constexpr std::size_t kMaxDetail = 512;

    /// Without a path, the reports last as long as this object.
    explicit Outcomes(std::optional<std::string> path);

    /// Errors: those of KeptEntries::load().
    Status load() { return kept_.load(); }
    /// The account against whose limits the reports of a uid count.
    struct Account {
        std::uint32_t id = 0;
        bool is_stranger = false;  ///< whether this machine has no account for the uid
        auto operator<=>(const Account&) const = default;
    };
    using AccountOf = std::function<Account(std::uint32_t uid)>;
    /// Adds a report, which replaces an earlier report by the same caller about the same choice.
    /// Errors: TooManyRequests if there are kMaxAll reports and none that this caller may replace,
    /// and the errors of CheckedFile::claim() and CheckedFile::save(). On an error, nothing has
    /// changed.
    Status failed(FailedChoice failure, const AccountOf& account_of = {});
    /// Forgets the failures of this choice that this user reported. If the choice has no GPU,
    /// forgets the failures on all GPUs. Errors: those of CheckedFile::claim() and
    /// CheckedFile::save().
    Status worked(const FailedChoice& choice);

    /// The failures that count at `now` when `uid` makes a request for `application`, oldest first.
    [[nodiscard]] Entries counting_for(std::uint32_t uid,
                                       const std::string& application,
                                       WallTime now) const;
    /// Whether this user has reported failures. Decisions for a user who has reported failures may
    /// differ from decisions for other users.
    [[nodiscard]] bool has_own(std::uint32_t uid) const;
    [[nodiscard]] const Entries& all() const { return kept_.all(); }

private:
    KeptEntries<Entries> kept_;
};

}  // namespace gpuprobe::store
