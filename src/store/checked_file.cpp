// SPDX-License-Identifier: Apache-2.0
#include "store/checked_file.h"

#include <cerrno>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/files.h"
#include "base/value.h"

namespace gpuprobe::store {
namespace {

/// The CRC-32 of `text` as eight hexadecimal digits.
std::string checksum(std::string_view text) {
    const auto sum = ::crc32_z(0, reinterpret_cast<const Bytef*>(text.data()), text.size());
    char digits[9] = {};
    std::snprintf(digits, sizeof digits, "%08lx", sum);
    return digits;
}

/// Fails unless this is a regular file that only we can write. Otherwise the daemon would act on
/// content that another user chose.
Status check_owner(const UniqueFd& fd, const std::string& path) {
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return errno_error(path, errno);
    if (!S_ISREG(info.st_mode))
        return Error{ErrorCode::Io, path + ": not a regular file"};
    if (info.st_uid != ::geteuid())
        return Error{ErrorCode::PermissionDenied, path + ": belongs to another user"};
    if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
        return Error{ErrorCode::PermissionDenied, path + ": others may write it"};
    return Done{};
}

/// Reads a file that check_owner() accepts.
Result<std::string> read_own_file(const std::string& path, Bytes limit) {
    const auto place = TRY(FilePlace::of(path));
    // O_NONBLOCK: if the path is a FIFO, open() must not wait for a writer.
    const UniqueFd fd{::open(place.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
    if (!fd)
        return errno_error(path, errno);
    TRY(check_owner(fd, path));
    return read_to_end(fd, path, limit);
}

/// The JSON after the first line, if that line has this magic and the JSON's checksum.
Result<std::string_view> checked_body(std::string_view text, std::string_view magic) {
    const auto end = text.find('\n');
    if (end == std::string_view::npos || !text.starts_with(magic))
        return Error{ErrorCode::Malformed, "another kind or version of file"};
    const auto body = text.substr(end + 1);
    if (text.substr(magic.size(), end - magic.size()) != checksum(body))
        return Error{ErrorCode::Malformed, "checksum does not fit"};
    return body;
}

}  // namespace

CheckedFile::CheckedFile(std::string path, std::string_view kind, int version, Bytes limit)
    : path_{std::move(path)},
      magic_{"gpuprobe-" + std::string{kind} + " " + std::to_string(version) + " "},
      limit_{limit} {}

Result<Value> CheckedFile::load() const {
    const auto text = TRY(read_own_file(path_, limit_));
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
        (void)set_aside();  // if this fails as well, the first error already has the reason
    return taken;
}

/// The checksum covers the document with its line feed, which ends the file.
Status CheckedFile::save(const Value& document) const {
    const auto body = json_line(document) + "\n";
    return write_atomically(path_, magic_ + checksum(body) + "\n" + body, 0600);
}

/// The lock ends with this object or the process.
Result<bool> CheckedFile::claim() {
    if (lock_)
        return false;
    // The lock is on a separate file because each save replaces the document's file.
    auto lock = TRY(lock_file(path_ + ".lock"));
    if (!lock)
        return Error{ErrorCode::Io, path_ + ": another process keeps this file"};
    lock_ = std::move(lock);
    return true;
}

Status CheckedFile::set_aside() const {
    return rename_file(path_, path_ + ".broken");
}

}  // namespace gpuprobe::store
