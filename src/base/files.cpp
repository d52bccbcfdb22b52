// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/handle.h"
#include "base/open_folder.h"
#include "base/parse.h"
#include "base/patience.h"

namespace gpuprobe::inline base {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's limit: path_resolution(7)
constexpr std::size_t kMaxFolderEntries = 65536;
constexpr Bytes kMaxLine = kib(4);

using Directory = CHandle<DIR, closedir>;

std::string text_of_errno(int number) {
    char buffer[128] = {};
    // The GNU variant, which may return a constant string instead of filling the buffer.
    return strerror_r(number, buffer, sizeof buffer);
}

Result<std::string> read_link(const std::string& path) {
    std::string target(PATH_MAX, '\0');
    const auto length = ::readlink(path.c_str(), target.data(), target.size());
    if (length < 0)
        return errno_error(path, errno);
    target.resize(static_cast<std::size_t>(length));
    return target;
}

/// Whether the last piece of the path is a symbolic link.
bool is_link(const std::string& path) {
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

/// Writes everything, also if write(2) accepts only a part at a time.
Status write_all(int fd, std::string_view content, const std::string& path) {
    while (!content.empty()) {
        const auto written = ::write(fd, content.data(), content.size());
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return errno_error(path, errno);
        content.remove_prefix(static_cast<std::size_t>(written));
    }
    return Done{};
}

/// Temporary files are called like the file, followed by this and six random characters.
constexpr std::string_view kUnfinished = ".new-";

/// The prefix under which all temporary names of a file start. In another folder they begin with a
/// dot.
std::string unfinished_name(const std::string& file, const std::string& elsewhere) {
    const auto name = file.substr(file.find_last_of('/') + 1);
    const auto beside = elsewhere == folder_of(file) ? file : elsewhere + "/." + name;
    return beside + std::string{kUnfinished};
}

/// Removes temporary files that killed writers left behind. A live writer holds a lock on its file.
void sweep(const std::string& folder, const std::string& prefix) {
    const Directory names{::opendir(folder.c_str())};
    if (!names)
        return;
    for (const dirent* entry = nullptr; (entry = ::readdir(names.get())) != nullptr;) {
        const auto path = folder + "/" + entry->d_name;
        if (!path.starts_with(prefix))
            continue;
        const UniqueFd left{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
        if (left && ::flock(left.get(), LOCK_EX | LOCK_NB) == 0)
            ::unlink(path.c_str());
    }
}

/// A temporary file with its content complete, before it is renamed to its final name. It is
/// deleted unless it was renamed.
class Unfinished {
public:
    /// `file_path` and `elsewhere` are paths through opened folders (open_folder.h). `path` is the
    /// path that errors show.
    static Result<Unfinished> write(const std::string& elsewhere,
                                    const std::string& file_path,
                                    const std::string& path,
                                    std::string_view content,
                                    mode_t mode) {
        const auto unfinished = unfinished_name(file_path, elsewhere);
        sweep(elsewhere, unfinished);
        Unfinished file{unfinished + "XXXXXX"};
        file.fd_.reset(::mkostemp(file.name_.data(), O_CLOEXEC));
        if (!file.fd_)
            return errno_error(path, errno);
        // Hold a lock so that sweep() in another process does not take the file for a leftover.
        (void)::flock(file.fd_.get(), LOCK_EX | LOCK_NB);
        TRY(write_all(file.fd_.get(), content, path));
        if (::fchmod(file.fd_.get(), mode) != 0)
            return errno_error(path, errno);
        return file;
    }
    Unfinished(Unfinished&&) = default;
    Unfinished& operator=(Unfinished&&) = delete;
    Unfinished(const Unfinished&) = delete;
    Unfinished& operator=(const Unfinished&) = delete;
    ~Unfinished() {
        if (fd_ && !has_name_)
            ::unlink(name_.c_str());
    }

    /// flush() and name() return false and set errno on failure.
    [[nodiscard]] bool flush() const { return ::fsync(fd_.get()) == 0; }
    [[nodiscard]] bool name(const std::string& path) {
        has_name_ = ::rename(name_.c_str(), path.c_str()) == 0;
        return has_name_;
    }

private:
    explicit Unfinished(std::string name) : name_{std::move(name)} {}

    std::string name_ = {};
    UniqueFd fd_ = {};
    bool has_name_ = false;
};

}  // namespace

Error errno_error(std::string_view path, int number) {
    auto code = ErrorCode::Io;
    // A file instead of a folder in the middle of a path also means that the target does not exist.
    if (number == ENOENT || number == ENOTDIR)
        code = ErrorCode::NotFound;
    if (number == EACCES || number == EPERM)
        code = ErrorCode::PermissionDenied;
    return Error{code, std::string{path} + ": " + text_of_errno(number)};
}

std::optional<std::string> FileSystem::line(std::string_view path) const {
    const auto text = read(path, kMaxLine);
    if (!text)
        return std::nullopt;
    return std::string{trimmed(text->substr(0, text->find('\n')))};
}

RootedFiles::RootedFiles(std::string root) : root_{std::move(root)} {
    while (!root_.empty() && root_.back() == '/')
        root_.pop_back();
}

Result<std::string> RootedFiles::real_path(std::string_view path) const {
    // Resolve piece by piece, as path_resolution(7) describes: `done` is the resolved part,
    // `rest` the part that is still to be resolved, to which each link adds its target.
    std::deque<std::string> rest;
    for (const auto piece : split(path, '/'))
        rest.emplace_back(piece);
    std::vector<std::string> done;
    const auto joined = [&done] {
        std::string text;
        for (const auto& piece : done)
            text += "/" + piece;
        return text.empty() ? std::string{"/"} : text;
    };
    for (int links = 0; !rest.empty();) {
        const auto piece = std::move(rest.front());
        rest.pop_front();
        if (piece.empty() || piece == ".")
            continue;
        if (piece == "..") {
            if (!done.empty())
                done.pop_back();
            continue;
        }
        done.push_back(piece);
        const auto here = root_ + joined();
        if (!is_link(here))
            continue;
        if (++links > kMaxLinks)
            return errno_error(path, ELOOP);
        const auto target = TRY(read_link(here));
        done.pop_back();
        // An absolute target starts at the root of the tree, not at the machine's.
        if (target.starts_with('/'))
            done.clear();
        const auto pieces = split(target, '/');
        rest.insert(rest.begin(), pieces.begin(), pieces.end());
    }
    // The loop above accepts missing pieces; report them here.
    auto resolved = joined();
    struct stat info = {};
    if (::lstat((root_ + resolved).c_str(), &info) != 0)
        return errno_error(path, errno);
    return resolved;
}

Result<std::string> RootedFiles::outside(std::string_view path) const {
    // The running machine: let the kernel resolve the path.
    if (root_.empty())
        return std::string{path};
    return root_ + TRY(real_path(path));
}

Result<std::string> read_to_end(const UniqueFd& fd, std::string_view path, Bytes limit) {
    std::string text;
    char buffer[16384];
    for (;;) {
        const auto count = ::read(fd.get(), buffer, sizeof buffer);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno_error(path, errno);
        if (count == 0)
            return text;
        text.append(buffer, static_cast<std::size_t>(count));
        // The size from fstat() is not reliable: files in /proc and /sys report 0 or one page.
        if (text.size() > limit.count)
            return Error{ErrorCode::TooLarge,
                         std::string{path} + ": over " + std::to_string(limit.count) + " bytes"};
    }
}

Result<std::string> RootedFiles::read(std::string_view path, Bytes limit) const {
    const auto real = TRY(outside(path));
    // O_NONBLOCK: opening a FIFO in a captured tree must not block.
    const UniqueFd fd{::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
    if (!fd)
        return errno_error(path, errno);
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0)
        return errno_error(path, errno);
    if (!S_ISREG(info.st_mode))
        return Error{ErrorCode::Io, std::string{path} + ": not a regular file"};
    return read_to_end(fd, path, limit);
}

Result<std::vector<std::string>> RootedFiles::list(std::string_view path) const {
    const auto real = TRY(outside(path));
    const Directory folder{::opendir(real.c_str())};
    if (!folder)
        return errno_error(path, errno);
    std::vector<std::string> names;
    // readdir() has no stable order; the names are sorted below.
    while (const auto* entry = ::readdir(folder.get())) {
        const std::string_view name{entry->d_name};
        if (name == "." || name == "..")
            continue;
        if (names.size() == kMaxFolderEntries)
            return Error{ErrorCode::TooLarge, std::string{path} + ": too many entries"};
        names.emplace_back(name);
    }
    std::ranges::sort(names);
    return names;
}

Result<std::string> RootedFiles::link_target(std::string_view path) const {
    const auto slash = path.find_last_of('/');
    // Resolve the folder only: the last piece is the link itself.
    const auto folder = TRY(outside(slash == 0 ? "/" : path.substr(0, slash)));
    auto target = read_link(folder + std::string{path.substr(slash)});
    if (!target)
        return Error{target.error().code, std::string{path} + ": not a symbolic link"};
    return target;
}

Result<FileStatus> RootedFiles::status(std::string_view path) const {
    const auto real = TRY(outside(path));
    struct stat info = {};
    if (::stat(real.c_str(), &info) != 0)
        return errno_error(path, errno);
    const auto modified =
        std::chrono::seconds{info.st_mtim.tv_sec} + std::chrono::nanoseconds{info.st_mtim.tv_nsec};
    return FileStatus{.mode = info.st_mode,
                      .uid = info.st_uid,
                      .gid = info.st_gid,
                      .device = info.st_rdev,
                      .inode = info.st_ino,
                      .size = Bytes{static_cast<std::uint64_t>(info.st_size)},
                      .modified = WallTime{std::chrono::duration_cast<Duration>(modified)}};
}

Status write_atomically(const std::string& path, std::string_view content, mode_t mode) {
    return write_atomically_from(folder_of(path), path, content, mode);
}

Status write_atomically_from(const std::string& elsewhere,
                             const std::string& path,
                             std::string_view content,
                             mode_t mode) {
    const auto place = TRY(FilePlace::of(path));
    // rename(2) works only within one file system, so both folders must be on the same one.
    const bool is_beside = elsewhere == folder_of(path);
    std::optional<OpenFolder> other;
    if (!is_beside)
        other = TRY(open_folder(elsewhere, FolderTrust::Named));
    auto file = TRY(Unfinished::write(other ? other->path : folder_of(place.path), place.path, path,
                                      content, mode));
    if (!file.flush() || !file.name(place.path))
        return errno_error(path, errno);
    const UniqueFd folder{
        ::open(folder_of(place.path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
    if (folder)
        (void)::fsync(folder.get());  // best effort: the file is complete either way
    return Done{};
}

Status write_scratch(const std::string& path, std::string_view content, mode_t mode) {
    const auto place = TRY(FilePlace::of(path));
    auto file = TRY(Unfinished::write(folder_of(place.path), place.path, path, content, mode));
    return file.name(place.path) ? Status{Done{}} : errno_error(path, errno);
}

Result<UniqueFd> lock_file(const std::string& path, Duration patience) {
    const auto place = TRY(FilePlace::of(path));
    UniqueFd fd{
        ::open(place.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)};
    if (!fd)
        return errno_error(path, errno);
    int problem = 0;
    (void)succeeds_within(patience, [&] {  // ends at any other error, too
        problem = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
        return problem != EWOULDBLOCK;
    });
    // Another process holds the lock.
    if (problem == EWOULDBLOCK)
        return UniqueFd{};
    if (problem != 0)
        return errno_error(path, problem);
    return fd;
}

}  // namespace gpuprobe::inline base
