// SPDX-License-Identifier: Apache-2.0
#include "base/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <utility>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/process.h"
#include "base/text.h"

namespace gpuprobe::inline base {
namespace {

constexpr std::size_t kMaxFolderEntries = 65536;
constexpr Bytes kMaxLine = kib(4);
/// The number of bytes that are requested from a file at a time.
constexpr std::size_t kLeastAtOnce = 16384;
constexpr off_t kMostAtOnce = 262144;

using Directory = CHandle<DIR, closedir>;

std::string text_of_errno(int number) {
    char buffer[128] = {};
    // The GNU variant of strerror_r() may return a constant string instead of filling the buffer.
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

/// Whether the last component of the path is a symbolic link.
bool is_link(const std::string& path) {
    struct stat info = {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

/// Writes everything, even if write(2) accepts only a part at a time.
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

/// The name of a temporary file is the name of the file, followed by this string and six random
/// characters.
constexpr std::string_view kUnfinished = ".new-";

/// The prefix of all temporary names of a file. If the temporary file is in another folder, its
/// name begins with a dot.
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

/// A temporary file whose content is complete, before the file is renamed to its final name. If the
/// file wasn't renamed, it is deleted.
class Unfinished {
public:
    /// `file_path` and `elsewhere` are paths through opened folders. `path` is the path that error
    /// messages contain.
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
        // Hold a lock, so that sweep() in another process does not treat the file as left behind.
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
    // If a file is in the middle of a path instead of a folder, the target does not exist either.
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

namespace {

/// The path as the kernel resolves it. Resolving takes three system calls instead of one for each
/// component. nullopt if /proc isn't available.
std::optional<Result<std::string>> kernels_real_path(std::string_view path) {
    const UniqueFd found{::open(std::string{path}.c_str(), O_PATH | O_CLOEXEC)};
    if (!found)
        return errno_error(path, errno);
    std::array<char, PATH_MAX> target = {};
    const auto link = "/proc/self/fd/" + std::to_string(found.get());
    const auto length = ::readlink(link.c_str(), target.data(), target.size());
    const std::string_view text{target.data(), static_cast<std::size_t>(std::max(length, 0L))};
    // The kernel appends " (deleted)" to the paths of deleted files.
    if (!text.starts_with('/') || text.ends_with(" (deleted)"))
        return std::nullopt;
    return std::string{text};
}

/// The real path of a device's link in /sys/bus, with one system call: the kernel makes these
/// links, and their targets contain no other links. nullopt for other paths.
std::optional<std::string> real_path_of_device(std::string_view path) {
    constexpr std::string_view kDevices = "../../../devices/";
    if (!path.starts_with("/sys/bus/"))
        return std::nullopt;
    const auto target = read_link(std::string{path});
    if (!target || !target->starts_with(kDevices))
        return std::nullopt;
    return "/sys/devices/" + target->substr(kDevices.size());
}

}  // namespace

Result<std::string> RootedFiles::real_path(std::string_view path) const {
    if (root_.empty() && path.starts_with('/')) {
        if (auto device = real_path_of_device(path))
            return *std::move(device);
        if (auto resolved = kernels_real_path(path))
            return *std::move(resolved);
    }
    // Resolve the path component by component, as path_resolution(7) describes. `done` is the
    // resolved part; `rest` is the unresolved part; the target of each link is added to `rest`.
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
        // An absolute target starts at the root of the tree, not at the root of the machine.
        if (target.starts_with('/'))
            done.clear();
        const auto pieces = split(target, '/');
        rest.insert(rest.begin(), pieces.begin(), pieces.end());
    }
    // The loop above accepts missing components, so report a missing path here.
    auto resolved = joined();
    struct stat info = {};
    if (::lstat((root_ + resolved).c_str(), &info) != 0)
        return errno_error(path, errno);
    return resolved;
}

Result<std::string> RootedFiles::outside(std::string_view path) const {
    // For the running machine, let the kernel resolve the path.
    if (root_.empty())
        return std::string{path};
    return root_ + TRY(real_path(path));
}

Result<std::string> read_to_end(const UniqueFd& fd,
                                std::string_view path,
                                Bytes limit,
                                off_t stated_size) {
    // One byte more than the size that fstat() reports, so that the first read is short and
    // therefore the last.
    const auto stated = static_cast<std::size_t>(std::clamp(stated_size, off_t{0}, kMostAtOnce));
    const auto step = std::max(stated + 1, kLeastAtOnce);
    std::string text;
    for (;;) {
        const auto had = text.size();
        text.resize(had + step);
        const auto count = ::read(fd.get(), text.data() + had, step);
        text.resize(had + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return errno_error(path, errno);
        // The size from fstat() isn't reliable: files in /proc and /sys report 0 or one page.
        if (text.size() > limit.count)
            return Error{ErrorCode::TooLarge,
                         std::string{path} + ": over " + std::to_string(limit.count) + " bytes"};
        // If the file has a known size, a short read means the end of the file.
        const bool is_short = static_cast<std::size_t>(count) < step;
        if (count == 0 || (is_short && stated_size > 0))
            return text;
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
    return read_to_end(fd, path, limit, info.st_size);
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
    // Resolve only the folder, because the last component is the link itself.
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
    // rename(2) works only within one file system, so both folders must be on the same file system.
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
        (void)::fsync(folder.get());  // errors are ignored: the file is complete in any case
    return Done{};
}

Status write_scratch(const std::string& path, std::string_view content, mode_t mode) {
    const auto place = TRY(FilePlace::of(path));
    auto file = TRY(Unfinished::write(folder_of(place.path), place.path, path, content, mode));
    return file.name(place.path) ? Status{Done{}} : errno_error(path, errno);
}

Result<UniqueFd> lock_file(const std::string& path, Duration patience) {
    return lock_file(TRY(FilePlace::of(path)), path, patience);
}

Result<UniqueFd> lock_file(const FilePlace& place, const std::string& path, Duration patience) {
    UniqueFd fd{
        ::open(place.path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600)};
    if (!fd)
        return errno_error(path, errno);
    int problem = 0;
    (void)succeeds_within(patience, [&] {  // also stops at any other error
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

namespace {

constexpr Bytes kMaxMap = kib(64);

/// The user id that the kernel reports for owners that have no mapping in this user namespace.
/// Source: user_namespaces(7), /proc/sys/kernel/overflowuid.
constexpr uid_t kUnmapped = 65534;

/// Whether 65534 is a real user in this namespace. If 65534 isn't a real user, the id only marks
/// owners that have no mapping. If uid_map cannot be read, the id is treated as a real user,
/// because this is the safer assumption.
bool is_unmapped_a_user() {
    const auto map = RootedFiles{}.read("/proc/self/uid_map", kMaxMap);
    if (!map)
        return true;
    for (const auto line : split(*map, '\n')) {
        const auto columns = words(line);
        const auto first = columns.size() == 3 ? parse_number<uid_t>(columns[0]) : std::nullopt;
        const auto count = columns.size() == 3 ? parse_number<uid_t>(columns[2]) : std::nullopt;
        if (first && count && kUnmapped >= *first && kUnmapped - *first < *count)
            return true;
    }
    return false;
}

/// Whether the owner is root, this user, or an owner that cannot be another user of this namespace.
/// Root can change our files in any case.
bool is_trusted(uid_t owner, uid_t self) {
    return owner == kRoot || owner == self || (owner == kUnmapped && !is_unmapped_a_user());
}

/// Whether another user can replace entries of the folder. In a sticky folder, other users can add
/// entries but can remove only entries that belong to them.
bool is_open_to_others(const struct stat& folder, uid_t self) {
    const bool is_writable =
        (folder.st_mode & S_IWOTH) != 0 ||
        ((folder.st_mode & S_IWGRP) != 0 && folder.st_gid != kRoot && folder.st_gid != ::getegid());
    return !is_trusted(folder.st_uid, self) || (is_writable && (folder.st_mode & S_ISVTX) == 0);
}

/// Looks up a path component by component, with a descriptor for each folder, and checks each step.
class Walk {
public:
    /// `shown` is the path that error messages contain.
    Walk(const std::string& path,
         const std::string& shown,
         FolderTrust trust,
         MissingFolder missing)
        : path_{path}, shown_{shown}, trust_{trust}, missing_{missing} {}

    Result<OpenFolder> to_its_end() {
        // follow() inserts the target of a link before the remaining components.
        TRY(start_at(path_.starts_with('/') ? "/" : "."));
        push(path_);
        while (!rest_.empty()) {
            const auto name = std::move(rest_.front());
            rest_.pop_front();
            if (!name.empty() && name != ".")
                TRY(step(name));
        }
        if (trust_ == FolderTrust::Own && (info_.st_uid != self_ || is_shared_at_its_end()))
            return refusal("is not a folder that only this user can change");
        // If another user can change the path, only the descriptor is reliable.
        auto way = is_open_ ? "/proc/self/fd/" + std::to_string(here_.get()) : path_;
        return OpenFolder{.descriptor = std::move(here_), .path = std::move(way)};
    }

private:
    Status start_at(const char* folder) {
        seen_ = *folder == '/' ? "" : ".";
        UniqueFd root{::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)};
        struct stat info = {};
        if (!root || ::fstat(root.get(), &info) != 0)
            return errno_error(shown_, errno);
        return enter(std::move(root), info);
    }

    /// Inserts components before the components that have not been looked up yet.
    void push(std::string_view path) {
        const auto pieces = split(path, '/');
        rest_.insert(rest_.begin(), pieces.begin(), pieces.end());
    }

    /// Enters a folder or follows a link. Creates a missing folder if the caller has requested
    /// this.
    Status step(const std::string& name) {
        auto next = opened(name);
        if (!next && errno == ENOENT && missing_ == MissingFolder::Make) {
            const mode_t mode = trust_ == FolderTrust::Own ? 0700 : 0755;
            // EEXIST means that another process was faster. The checks below also apply to the
            // folder that the other process has created.
            if (::mkdirat(here_.get(), name.c_str(), mode) != 0 && errno != EEXIST)
                return errno_error(shown_, errno);
            next = opened(name);
        }
        struct stat info = {};
        if (!next || ::fstat(next.get(), &info) != 0)
            return errno_error(shown_, errno);
        seen_ += "/" + name;
        if (S_ISLNK(info.st_mode))
            return follow(next, info);
        if (!S_ISDIR(info.st_mode))
            return errno_error(shown_, ENOTDIR);
        return enter(std::move(next), info);
    }

    [[nodiscard]] UniqueFd opened(const std::string& name) const {
        return UniqueFd{::openat(here_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    }

    /// Follows a link, unless another user could have created it.
    Status follow(const UniqueFd& link, const struct stat& info) {
        if (!is_trusted(info.st_uid, self_) || is_open_)
            return refusal("is a link that " + owner(is_open_ ? opener_ : info.st_uid) +
                           " could lead elsewhere");
        if (++links_ > kMaxLinks)
            return errno_error(shown_, ELOOP);
        std::array<char, PATH_MAX> target = {};
        // With an empty path, the call reads the link that was opened and checked, and not a link
        // that may have replaced it.
        const auto length = ::readlinkat(link.get(), "", target.data(), target.size());
        if (length < 0)
            return errno_error(shown_, errno);
        const std::string_view text{target.data(), static_cast<std::size_t>(length)};
        push(text);
        return text.starts_with('/') ? start_at("/") : Status{Done{}};
    }

    /// Makes `folder` the current folder, and records whether other users can change the path.
    Status enter(UniqueFd folder, const struct stat& info) {
        info_ = info;
        here_ = std::move(folder);
        if (is_open_to_others(info_, self_) && !is_open_) {
            is_open_ = true;
            opener_ = info_.st_uid;
        }
        const bool is_closed_way = trust_ == FolderTrust::Own && self_ == kRoot;
        if (is_open_ && is_closed_way)
            return refusal(is_trusted(opener_, self_) ? std::string{"can be changed by other users"}
                                                      : "belongs to " + owner(opener_));
        return Done{};
    }

    /// Whether other users can create files in the current folder; a sticky bit does not prevent
    /// this.
    [[nodiscard]] bool is_shared_at_its_end() const {
        return is_open_to_others(info_, self_) || (info_.st_mode & S_IWOTH) != 0;
    }

    static std::string owner(uid_t id) {
        return "user " + user_name(id).value_or(std::to_string(id));
    }

    [[nodiscard]] Error refusal(const std::string& problem) const {
        const auto place = seen_.empty() ? std::string{"/"} : seen_;
        return Error{ErrorCode::PermissionDenied,
                     shown_ + ": " + (place == shown_ ? "" : place + " ") + problem};
    }

    const uid_t self_ = ::geteuid();
    const std::string& path_;
    const std::string& shown_;
    FolderTrust trust_;
    MissingFolder missing_;
    UniqueFd here_ = {};
    struct stat info_ = {};  ///< status of here_
    std::deque<std::string> rest_ = {};
    std::string seen_ = {};  ///< the path as far as it has been looked up
    bool is_open_ = false;   ///< is_open_to_others() was true for a folder on the path
    uid_t opener_ = 0;       ///< owner of the first folder that others can change
    int links_ = 0;
};

}  // namespace

Result<OpenFolder> open_folder(const std::string& path, FolderTrust trust, MissingFolder missing) {
    return Walk{path, path, trust, missing}.to_its_end();
}

std::string folder_of(const std::string& path) {
    const auto slash = path.find_last_of('/');
    if (slash == std::string::npos)
        return ".";
    return path.substr(0, slash == 0 ? 1 : slash);
}

Result<FilePlace> FilePlace::of(const std::string& path) {
    const auto above = folder_of(path);
    FilePlace place{
        .folder = TRY((Walk{above, path, FolderTrust::Named, MissingFolder::Fail}.to_its_end()))};
    const auto name = path.substr(path.find_last_of('/') + 1);
    const auto& folder = place.folder.path;
    place.path = folder + (folder.ends_with('/') ? "" : "/") + name;
    return place;
}

Status rename_file(const std::string& from, const std::string& to) {
    const auto source = TRY(FilePlace::of(from));
    const auto target = TRY(FilePlace::of(to));
    if (::rename(source.path.c_str(), target.path.c_str()) != 0)
        return errno_error(from, errno);
    return Done{};
}

Status remove_file(const std::string& path) {
    const auto place = TRY(FilePlace::of(path));
    if (::unlink(place.path.c_str()) != 0 && errno != ENOENT)
        return errno_error(path, errno);
    return Done{};
}

}  // namespace gpuprobe::inline base
