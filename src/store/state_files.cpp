// SPDX-License-Identifier: Apache-2.0
#include "store/state_files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/accounts.h"
#include "base/files.h"
#include "base/value.h"

namespace gpuprobe::store {
namespace {

/// Each save replaces the document's file, so the lock is on another file.
constexpr const char* kLockSuffix = ".lock";

/// The CRC-32 of `text` as eight hexadecimal digits.
std::string checksum(std::string_view text) {
    const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
    char digits[9] = {};
    std::snprintf(digits, sizeof digits, "%08lx", sum);
    return digits;
}

/// The size of the file in bytes. Fails unless the file is a regular file that only our user can
/// write to. Otherwise the daemon would use content that another user has chosen.
Result<off_t> size_of_own(const UniqueFd& fd, const std::string& path) {
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return errno_error(path, errno);
    if (!S_ISREG(info.st_mode))
        return Error{ErrorCode::Io, path + ": not a regular file"};
    if (info.st_uid != ::geteuid())
        return Error{ErrorCode::PermissionDenied, path + ": belongs to another user"};
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return Error{ErrorCode::PermissionDenied, path + ": writable by other users"};
    return info.st_size;
}

/// Reads a file that size_of_own() accepts.
Result<std::string> read_own_file(const FilePlace& place, const std::string& path, Bytes limit) {
    // O_NONBLOCK: if the path is a FIFO, open() must not wait for a writer.
    const UniqueFd fd{::open(place.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (!fd)
        return errno_error(path, errno);
    const auto size = TRY(size_of_own(fd, path));
    return read_to_end(fd, path, limit, size);
}

/// The JSON after the first line, if the first line contains this magic string and the checksum of
/// the JSON.
Result<std::string_view> checked_body(std::string_view text, std::string_view magic) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos || !text.starts_with(magic))
        return Error{ErrorCode::Malformed, "another kind or version of file"};
    const auto body = text.substr(end + 1);
    if (text.substr(magic.size(), end - magic.size()) != checksum(body))
        return Error{ErrorCode::Malformed, "wrong checksum"};
    return body;
}

}  // namespace

CheckedFile::CheckedFile(std::string path, std::string_view kind, int version, Bytes limit)
    : path_{std::move(path)},
      magic_{"gpuprobe-" + std::string{kind} + " " + std::to_string(version) + " "},
      limit_{limit} {}

Result<Value> CheckedFile::load() const {
    // Most of these files do not exist. This call detects a missing file without checking each
    // folder.
    struct stat info = {};
    if (::lstat(path_.c_str(), &info) != 0)
        return errno_error(path_, errno);
    return load_at(TRY(FilePlace::of(path_)));
}

CheckedFile::LockAndDocument CheckedFile::lock_and_load() const {
    auto place = FilePlace::of(path_);
    if (!place)
        return {.lock = place.error(), .document = place.error()};
    const auto file = place->path;
    place->path += kLockSuffix;
    auto lock = lock_file(*place, path_ + kLockSuffix);
    place->path = file;
    return {.lock = std::move(lock), .document = load_at(*place)};
}

Result<Value> CheckedFile::load_at(const FilePlace& place) const {
    const auto text = TRY(read_own_file(place, path_, limit_));
    const auto body = checked_body(text, magic_);
    if (!body)
        return Error{body.error()}.in(path_);
    auto document = parse_json(*body, limit_);
    if (!document)
        return std::move(document).error().in(path_);
    return document;
}

Status CheckedFile::take(const std::function<Status(const Value& document)>& read) const {
    const auto document = load();
    if (!document && document.error().code == ErrorCode::NotFound)
        return Done{};
    auto taken = document ? read(*document) : Status{document.error()};
    if (!taken)
        (void)set_aside();  // if this also fails, the first error already contains the reason
    return taken;
}

/// The checksum covers the document and the line feed at the end of the file.
Status CheckedFile::save(const Value& document) const {
    const auto body = json_line(document) + "\n";
    return write_atomically(path_, magic_ + checksum(body) + "\n" + body, 0600);
}

/// The lock is released when this object is destroyed or the process ends.
Result<bool> CheckedFile::claim() {
    if (lock_)
        return false;
    auto lock = TRY(lock_file(path_ + kLockSuffix));
    if (!lock)
        return Error{ErrorCode::Io, path_ + ": another process uses this file"};
    lock_ = std::move(lock);
    return true;
}

Status CheckedFile::set_aside() const {
    return rename_file(path_, path_ + ".broken");
}

namespace {

constexpr Bytes kMaxFeedbackFile = mib(4);

/// Never subtracts from the time in the file, because that time may be the smallest representable
/// number.
bool is_expired(const FailedChoice& failure, WallTime now) {
    // A time in the future means that the report was made before the clock was set back.
    return failure.at <= now - Outcomes::kLasts || failure.at > now + Outcomes::kLasts;
}

/// Whether both reports are by the same user and about the same choice. The GPUs may differ.
bool is_about(const FailedChoice& known, const FailedChoice& choice) {
    return known.uid == choice.uid && known.application == choice.application &&
           known.choice == choice.choice;
}

/// If there is no `find`, each uid counts as a separate account.
Outcomes::Account account_of(std::uint32_t uid, const Outcomes::AccountOf& find) {
    return find ? find(uid) : Outcomes::Account{.id = uid};
}

/// The entries must include a report from that account. The entries are sorted by age, so the first
/// match is the oldest.
void drop_oldest_of(std::uint32_t account,
                    const Outcomes::AccountOf& find,
                    Outcomes::Entries& entries) {
    entries.erase(std::ranges::find_if(entries, [&](const FailedChoice& entry) {
        return account_of(entry.uid, find).id == account;
    }));
}

/// Makes space for one more report by `uid`. If the account of `uid` already has kMaxPerUser
/// reports, its oldest report is dropped. If there are kMaxAll reports in total, the account with
/// the most reports loses its oldest report; accounts unknown to this machine ("strangers") come
/// before known accounts. Reports by root are never dropped, and a stranger never displaces a known
/// user. Returns false if no report may be dropped.
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
    // The list is full: exclude the accounts that must not lose a report to this caller.
    std::erase_if(counts, [&own](const auto& entry) {
        return entry.first.id == kRoot || (own.is_stranger && !entry.first.is_stranger);
    });
    // Compare pairs: strangers rank above users, and then the number of reports decides.
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

// The members of the template are defined in this file, so both instantiations are here.
template class KeptEntries<Overrides::Entries>;
template class KeptEntries<Outcomes::Entries>;

Overrides::Overrides(std::optional<std::string> path)
    : kept_{std::move(path), "overrides", "overrides", kMaxApplications} {}

Status Overrides::set(const std::string& application, Override entry) {
    if (json_line(entry.rule).size() > kMaxRule.count)
        return Error{ErrorCode::TooLarge, "override: over 8 KiB"};
    TRY(kept_.claim());
    auto entries = all();
    entries.insert_or_assign(application, std::move(entry));
    if (entries.size() > kMaxApplications)
        return Error{ErrorCode::TooManyRequests,
                     "override: 256 applications already have an override"};
    return kept_.replace(std::move(entries));
}

Result<bool> Overrides::clear(const std::string& application) {
    // Claim first, because claim() reloads the file if it has changed. If there is no override to
    // clear, the caller gets false even if the file can't be claimed.
    const auto claimed = kept_.claim();
    auto entries = all();
    if (entries.erase(application) == 0)
        return false;
    TRY(claimed);
    TRY(kept_.replace(std::move(entries)));
    return true;
}

const Override* Overrides::find(const std::string& application) const {
    const auto found = all().find(application);
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
        return Error{ErrorCode::TooManyRequests, "outcome: 1024 failures are already recorded"};
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
                                         const std::string& application,
                                         WallTime now) const {
    Entries counting;
    for (const auto& failure : all())
        if ((failure.uid == uid || failure.uid == kRoot) && failure.application == application &&
            !is_expired(failure, now))
            counting.push_back(failure);
    return counting;
}

bool Outcomes::has_own(std::uint32_t uid) const {
    return std::ranges::find(all(), uid, &FailedChoice::uid) != all().end();
}

}  // namespace gpuprobe::store
