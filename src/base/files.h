// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/handle.h"
#include "base/result.h"

namespace gpuprobe::inline base {

/// What stat(2) says, as far as anyone here needs it.
struct FileStatus {
    mode_t mode = 0;  ///< type and permission bits
    uid_t uid = 0;
    gid_t gid = 0;
    dev_t device = 0;  ///< st_rdev: the device a node stands for
    ino_t inode = 0;
    Bytes size = {};
    WallTime modified = {};
};

/// The files of one machine, seen from its root: the running one, or a captured one.
///
/// Paths are absolute within that root, and symbolic links never lead out of it.
/// Every Error's text is "path: reason".
class FileSystem {
public:
    virtual ~FileSystem() = default;

    /// The whole file. Errors: NotFound, PermissionDenied, TooLarge over `limit`, Io (not a regular
    /// file too).
    [[nodiscard]] virtual Result<std::string> read(std::string_view path, Bytes limit) const = 0;
    /// The names in a folder but "." and "..", sorted by byte. Errors: NotFound, PermissionDenied,
    /// Io.
    [[nodiscard]] virtual Result<std::vector<std::string>> list(std::string_view path) const = 0;
    /// Where a symbolic link points, unresolved. Errors: NotFound, Io when it is none.
    [[nodiscard]] virtual Result<std::string> link_target(std::string_view path) const = 0;
    /// The path with every link resolved, within the root. Errors: NotFound, Io for a loop.
    [[nodiscard]] virtual Result<std::string> real_path(std::string_view path) const = 0;
    /// Follows links. Opens nothing. Errors: NotFound, PermissionDenied, Io.
    [[nodiscard]] virtual Result<FileStatus> status(std::string_view path) const = 0;

    [[nodiscard]] bool exists(std::string_view path) const {
        return static_cast<bool>(status(path));
    }
    /// One line of a small file without white space around it; nullopt when it can't be read.
    [[nodiscard]] std::optional<std::string> line(std::string_view path) const;
};

/// Files below a folder of this machine.
class RootedFiles final : public FileSystem {
public:
    explicit RootedFiles(std::string root = "/");

    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes limit) const override;
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override;
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override;
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override;
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override;

private:
    /// The path as the operating system knows it: links resolved within the root.
    [[nodiscard]] Result<std::string> outside(std::string_view path) const;

    std::string root_;  ///< without a final slash; empty for "/"
};

/// What a file has from here to its end. Errors: TooLarge over `limit`, Io; each names `path`.
Result<std::string> read_to_end(const UniqueFd& fd, std::string_view path, Bytes limit);

/// Writes a file so that a reader sees the old or the new one, whatever happens in between: a
/// temporary file beside it, fsync, rename, fsync of the folder. Errors: Io, PermissionDenied.
Status write_atomically(const std::string& path, std::string_view content, mode_t mode = 0644);

/// The same without a flush, for what is made again where it is not as it should be.
Status write_scratch(const std::string& path, std::string_view content, mode_t mode = 0644);

/// An Error for the current errno: "path: reason" with the code that fits.
Error errno_error(std::string_view path, int number);

/// write_atomically() with the temporary file in `elsewhere`, a folder of the same file system, for
/// a reader who takes notice of whatever appears in the file's own. Errors: Io, PermissionDenied.
Status write_atomically_from(const std::string& elsewhere,
                             const std::string& path,
                             std::string_view content,
                             mode_t mode = 0644);

/// A lock on a file, which is made where it is missing, that ends with this process; an empty one
/// where another process has it for longer than `patience`. Errors: Io, NotFound, PermissionDenied,
/// each "path: reason".
Result<UniqueFd> lock_file(const std::string& path, Duration patience = {});

}  // namespace gpuprobe::inline base
