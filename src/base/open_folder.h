// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/handle.h"
#include "base/result.h"

/// Opens folders so that no other user can redirect the path. Every file that this project creates
/// or replaces goes through these functions, including those in files.h. The reason: root also runs
/// gpuprobectl with the environment of a user and in that user's folders.
namespace gpuprobe::inline base {

/// Which users' folders a path may pass through.
enum class FolderTrust {
    /// A path that this project chose. The last folder must belong to us. For root, no folder on
    /// the path may be writable by other users.
    Own,
    /// A path that our caller named. It may pass through folders of other users, because the caller
    /// wants that.
    Named,
};

enum class MissingFolder { Fail, Make };

/// An open folder. Other users cannot exchange it while this object lives, even if they change the
/// path that led to it.
struct OpenFolder {
    UniqueFd descriptor = {};
    /// A path to the folder: the original path if no other user can redirect it, otherwise
    /// "/proc/self/fd/N".
    std::string path = {};
};

/// Opens the folder at `path`. Folders that this function creates are readable by everyone, subject
/// to the umask; with FolderTrust::Own only by us.
///
/// A symbolic link is not followed if it belongs to a user other than root and us, or if it is in a
/// folder in which another user could have created it. Errors: NotFound, Io; PermissionDenied, also
/// if another user could redirect the path. The text names the folder or link at fault.
Result<OpenFolder> open_folder(const std::string& path,
                               FolderTrust trust,
                               MissingFolder missing = MissingFolder::Fail);

/// The folder part of a path: "." for a name without a slash.
std::string folder_of(const std::string& path);

/// The location of a file, whose folder was opened with FolderTrust::Named.
struct FilePlace {
    OpenFolder folder = {};
    std::string path = {};  ///< the file's path, through folder.path

    /// Errors: as open_folder().
    static Result<FilePlace> of(const std::string& path);
};

/// Renames a file and replaces an existing target. Errors: NotFound, Io, PermissionDenied.
Status rename_file(const std::string& from, const std::string& to);

/// Removes a file. A missing file is not an error. Errors: Io, PermissionDenied.
Status remove_file(const std::string& path);

}  // namespace gpuprobe::inline base
