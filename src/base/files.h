// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>
#include <unistd.h>

#include "base/result.h"
#include "base/units.h"

namespace gpuprobe::inline base {

/// A deleter that calls a C function.
template <auto release>
struct Release {
    template <class T>
    void operator()(T* object) const {
        release(object);
    }
};

/// An owner of a C object. The destructor calls `release` once.
template <class T, auto release>
using CHandle = std::unique_ptr<T, Release<release>>;

/// An owner of a file descriptor. -1 means that there is no descriptor.
class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_{fd} {}
    UniqueFd(UniqueFd&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        reset(std::exchange(other.fd_, -1));
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] int release() { return std::exchange(fd_, -1); }
    explicit operator bool() const { return fd_ >= 0; }
    void reset(int fd = -1) {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = fd;
    }

private:
    int fd_ = -1;
};

// The following functions open folders in such a way that no other user can redirect the path.
// Every file that this project creates or replaces is opened with these functions, because root
// also runs gpuprobectl with the environment of a user and in that user's folders.

/// Determines which users' folders a path may pass through.
enum class FolderTrust {
    /// A path that gpuprobe chose. The last folder must belong to the user of this process. If this
    /// user is root, no folder on the path may be writable by other users.
    Own,
    /// A path that the caller chose. The path may pass through folders of other users, because this
    /// is the caller's decision.
    Named,
};

enum class MissingFolder { Fail, Make };

/// An open folder. As long as this object exists, other users cannot replace the folder, even if
/// they change the path that led to it.
struct OpenFolder {
    UniqueFd descriptor = {};
    /// A path to the folder: the original path if no other user can redirect it, otherwise
    /// "/proc/self/fd/N".
    std::string path = {};
};

/// Opens the folder at `path`. Folders that this function creates are readable by all users,
/// depending on the umask; with FolderTrust::Own, they are readable only by this user.
///
/// A symbolic link isn't followed if it belongs to a user other than root and this user, or if it
/// is in a folder in which another user could have created it. Errors: NotFound or Io;
/// PermissionDenied, also if another user could redirect the path. The error message names the
/// folder or link at fault.
Result<OpenFolder> open_folder(const std::string& path,
                               FolderTrust trust,
                               MissingFolder missing = MissingFolder::Fail);

/// The folder part of a path; "." for a name without a slash.
std::string folder_of(const std::string& path);

/// The location of a file. The folder of the file was opened with FolderTrust::Named.
struct FilePlace {
    OpenFolder folder = {};
    std::string path = {};  ///< the path of the file, through folder.path

    /// Errors: the same as for open_folder().
    static Result<FilePlace> of(const std::string& path);
};

/// Renames a file and replaces an existing target. Errors: NotFound, Io or PermissionDenied.
Status rename_file(const std::string& from, const std::string& to);

/// Removes a file. A missing file isn't an error. Errors: Io, PermissionDenied.
Status remove_file(const std::string& path);

/// The fields of stat(2) that this project uses.
struct FileStatus {
    mode_t mode = 0;  ///< the bits for the type and the permissions
    uid_t uid = 0;
    gid_t gid = 0;
    dev_t device = 0;  ///< the device number of a device node (st_rdev)
    ino_t inode = 0;
    Bytes size = {};
    WallTime modified = {};
};

/// The maximum number of symbolic links in a path, the same as in the kernel. Source:
/// path_resolution(7).
constexpr int kMaxLinks = 40;

/// A read-only view of the files of one machine, either the running machine or a captured tree.
///
/// Paths are absolute within that tree, and symbolic links never lead out of the tree. The message
/// of each Error is "path: reason".
class FileSystem {
public:
    virtual ~FileSystem() = default;

    /// The content of a whole file. Errors: NotFound or PermissionDenied; TooLarge if the file is
    /// larger than `limit`; Io, also if the path isn't a regular file.
    [[nodiscard]] virtual Result<std::string> read(std::string_view path, Bytes limit) const = 0;
    /// The names in a folder except "." and "..", sorted by byte. Errors: NotFound,
    /// PermissionDenied or Io; TooLarge for more than 65536 entries.
    [[nodiscard]] virtual Result<std::vector<std::string>> list(std::string_view path) const = 0;
    /// The target of a symbolic link, unresolved. Errors: NotFound, or Io if the path isn't a
    /// link.
    [[nodiscard]] virtual Result<std::string> link_target(std::string_view path) const = 0;
    /// The path with all links resolved, within the root. Errors: NotFound, or Io for a loop of
    /// links.
    [[nodiscard]] virtual Result<std::string> real_path(std::string_view path) const = 0;
    /// The status of a file, following links. Does not open the file. Errors: NotFound,
    /// PermissionDenied or Io.
    [[nodiscard]] virtual Result<FileStatus> status(std::string_view path) const = 0;

    [[nodiscard]] bool exists(std::string_view path) const {
        return static_cast<bool>(status(path));
    }
    /// The first line of a small file (4 KiB at most), trimmed; nullopt if it cannot be read.
    [[nodiscard]] std::optional<std::string> line(std::string_view path) const;
};

/// The files below a folder of this machine.
class RootedFiles final : public FileSystem {
public:
    explicit RootedFiles(std::string root = "/");

    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes limit) const override;
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override;
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override;
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override;
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override;

private:
    /// The path to pass to the operating system. The path is below the root, and links are resolved
    /// within the root.
    [[nodiscard]] Result<std::string> outside(std::string_view path) const;

    std::string root_;  ///< the root without a final slash; empty for "/"
};

/// Reads a file from the current position to the end. `stated_size` is the size of a regular file
/// according to fstat(), which saves the final read() at the end of the file; 0 for pipes and for
/// files without a known size. Errors: Io, or TooLarge if the content is larger than `limit`. Error
/// messages contain `path`.
Result<std::string> read_to_end(const UniqueFd& fd,
                                std::string_view path,
                                Bytes limit,
                                off_t stated_size = 0);

/// Replaces a file atomically, even if the machine crashes: readers get either the old or the new
/// content. Writes a temporary file next to the file, then calls fsync, rename, and fsync on the
/// folder. Errors: Io, PermissionDenied.
Status write_atomically(const std::string& path, std::string_view content, mode_t mode = 0644);

/// Like write_atomically(), but without fsync, for files that are simply created again if they were
/// lost or damaged.
Status write_scratch(const std::string& path, std::string_view content, mode_t mode = 0644);

/// An Error with the message "path: reason" and the code for an errno value.
Error errno_error(std::string_view path, int number);

/// Like write_atomically(), but with the temporary file in the folder `elsewhere` on the same file
/// system. Use this function if another program reacts to every file that appears in the target
/// folder. Errors: Io, PermissionDenied.
Status write_atomically_from(const std::string& elsewhere,
                             const std::string& path,
                             std::string_view content,
                             mode_t mode = 0644);

/// Takes an exclusive lock on a file, which is created if it is missing. The lock is held until the
/// descriptor is closed. Returns an empty descriptor if another process still holds the lock after
/// `patience`. Errors: Io, NotFound or PermissionDenied, each with the message "path: reason".
Result<UniqueFd> lock_file(const std::string& path, Duration patience = {});
/// Like the function above, but for a file whose folder is already open. The error messages contain
/// `path`.
Result<UniqueFd> lock_file(const FilePlace& place, const std::string& path, Duration patience = {});

}  // namespace gpuprobe::inline base
