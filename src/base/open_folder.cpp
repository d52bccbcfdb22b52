// SPDX-License-Identifier: Apache-2.0
#include "base/open_folder.h"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <deque>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/files.h"
#include "base/parse.h"

namespace gpuprobe::inline base {
namespace {

constexpr int kMaxLinksOnTheWay = 40;  // the kernel's limit: path_resolution(7)
constexpr Bytes kMaxMap = kib(64);

/// User id that the kernel reports for owners without a mapping in this user namespace. Source:
/// user_namespaces(7), /proc/sys/kernel/overflowuid.
constexpr uid_t kUnmapped = 65534;

/// Whether 65534 is a real user in this namespace. Otherwise it only stands for unmapped owners. A
/// uid_map that cannot be read counts as a real user, which is the cautious answer.
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

/// Whether the owner is root or us, or cannot be another user of this namespace. Root can change
/// our files in any case.
bool is_trusted(uid_t owner) {
    return owner == kRoot || owner == ::geteuid() || (owner == kUnmapped && !is_unmapped_a_user());
}

/// Whether another user can replace entries of the folder. In a sticky folder other users can add
/// entries, but remove only their own.
bool is_open_to_others(const struct stat& folder) {
    const bool is_writable =
        (folder.st_mode & S_IWOTH) != 0 ||
        ((folder.st_mode & S_IWGRP) != 0 && folder.st_gid != kRoot && folder.st_gid != ::getegid());
    return !is_trusted(folder.st_uid) || (is_writable && (folder.st_mode & S_ISVTX) == 0);
}

/// Looks a path up piece by piece, with a descriptor for each folder, and checks each step.
class Walk {
public:
    /// `told`: the path that errors show.
    Walk(const std::string& path, const std::string& told, FolderTrust trust, MissingFolder missing)
        : path_{path}, told_{told}, trust_{trust}, missing_{missing} {}

    Result<OpenFolder> to_its_end() {
        // follow() puts the target of a link in front of the remaining pieces.
        TRY(start_at(path_.starts_with('/') ? "/" : "."));
        push(path_);
        while (!rest_.empty()) {
            const auto name = std::move(rest_.front());
            rest_.pop_front();
            if (!name.empty() && name != ".")
                TRY(step(name));
        }
        if (trust_ == FolderTrust::Own && (info_.st_uid != ::geteuid() || is_shared_at_its_end()))
            return refusal("is not a folder of ours only");
        // If another user can change the path, only the descriptor is reliable.
        auto way = is_open_ ? "/proc/self/fd/" + std::to_string(here_.get()) : path_;
        return OpenFolder{.descriptor = std::move(here_), .path = std::move(way)};
    }

private:
    Status start_at(const char* folder) {
        seen_ = *folder == '/' ? "" : ".";
        return enter(UniqueFd{::open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC)});
    }

    /// Adds pieces in front of those that are still to be looked up.
    void push(std::string_view path) {
        const auto pieces = split(path, '/');
        rest_.insert(rest_.begin(), pieces.begin(), pieces.end());
    }

    /// Enters a folder or follows a link. Creates a missing folder if that was requested.
    Status step(const std::string& name) {
        auto next = opened(name);
        if (!next && errno == ENOENT && missing_ == MissingFolder::Make) {
            const mode_t mode = trust_ == FolderTrust::Own ? 0700 : 0755;
            // EEXIST: another process was faster. The checks below apply to its folder as well.
            if (::mkdirat(here_.get(), name.c_str(), mode) != 0 && errno != EEXIST)
                return errno_error(told_, errno);
            next = opened(name);
        }
        struct stat info = {};
        if (!next || ::fstat(next.get(), &info) != 0)
            return errno_error(told_, errno);
        seen_ += "/" + name;
        if (S_ISLNK(info.st_mode))
            return follow(next, info);
        if (!S_ISDIR(info.st_mode))
            return errno_error(told_, ENOTDIR);
        return enter(std::move(next));
    }

    [[nodiscard]] UniqueFd opened(const std::string& name) const {
        return UniqueFd{::openat(here_.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    }

    /// Follows a link, unless another user could have created it.
    Status follow(const UniqueFd& link, const struct stat& info) {
        if (!is_trusted(info.st_uid) || is_open_)
            return refusal("is a link that " + owner(is_open_ ? opener_ : info.st_uid) +
                           " could lead elsewhere");
        if (++links_ > kMaxLinksOnTheWay)
            return errno_error(told_, ELOOP);
        std::array<char, PATH_MAX> target = {};
        // The empty path reads the link that was opened and checked, not its current
        // replacement.
        const auto length = ::readlinkat(link.get(), "", target.data(), target.size());
        if (length < 0)
            return errno_error(told_, errno);
        const std::string_view text{target.data(), static_cast<std::size_t>(length)};
        push(text);
        return text.starts_with('/') ? start_at("/") : Status{Done{}};
    }

    /// Makes `folder` the current folder, and records whether other users can change the path.
    Status enter(UniqueFd folder) {
        if (!folder || ::fstat(folder.get(), &info_) != 0)
            return errno_error(told_, errno);
        here_ = std::move(folder);
        if (is_open_to_others(info_) && !is_open_) {
            is_open_ = true;
            opener_ = info_.st_uid;
        }
        const bool is_closed_way = trust_ == FolderTrust::Own && ::geteuid() == kRoot;
        if (is_open_ && is_closed_way)
            return refusal(is_trusted(opener_) ? std::string{"can be changed by other users"}
                                               : "belongs to " + owner(opener_));
        return Done{};
    }

    /// Whether other users can create files in the current folder; a sticky bit does not help here.
    [[nodiscard]] bool is_shared_at_its_end() const {
        return is_open_to_others(info_) || (info_.st_mode & S_IWOTH) != 0;
    }

    static std::string owner(uid_t id) {
        return "user " + user_name(id).value_or(std::to_string(id));
    }

    [[nodiscard]] Error refusal(const std::string& problem) const {
        const auto place = seen_.empty() ? std::string{"/"} : seen_;
        return Error{ErrorCode::PermissionDenied,
                     told_ + ": " + (place == told_ ? "" : place + " ") + problem};
    }

    const std::string& path_;
    const std::string& told_;
    FolderTrust trust_;
    MissingFolder missing_;
    UniqueFd here_ = {};
    struct stat info_ = {};  ///< status of here_
    std::deque<std::string> rest_ = {};
    std::string seen_ = {};  ///< the path as far as it has been looked up
    bool is_open_ = false;   ///< is_open_to_others() is true for a folder on the path
    uid_t opener_ = 0;       ///< owner of the first such folder
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
