// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/handle.h"
#include "base/result.h"

/// Every file that this project creates or replaces (files.h, too) is reached through here, so that
/// no other user can redirect it: gpuprobectl is also run by root, with the variables and in the
/// folders of a user.
namespace gpuprobe::inline base {

/// Whose folders a path may lead through.
enum class FolderTrust {
    /// The path of a place of ours. The last folder must belong to us, and for root every folder on
    /// the way must be closed to other users.
    Own,
    /// A path that our caller named. Folders of other users are entered, as whoever named the path
    /// wants it.
    Named,
};

enum class MissingFolder { Fail, Make };

/// A folder that stays what it is while this lives, whatever other users do to its path.
struct OpenFolder {
    UniqueFd descriptor = {};
    /// Leads there: the path itself if no other user can change where it leads, else
    /// "/proc/self/fd/N".
    std::string path = {};
};

/// Opens the folder at `path`. Folders that are made may be read by everybody, as the umask allows,
/// and for FolderTrust::Own to us only.
///
/// No link is followed that belongs to another user than root and us, or that is in a folder in
/// which another user could have put it. Errors: NotFound, Io; PermissionDenied, also for what
/// another user could redirect, with the folder or link at fault.
Result<OpenFolder> open_folder(const std::string& path,
                               FolderTrust trust,
                               MissingFolder missing = MissingFolder::Fail);

/// The path of the folder that a file is in: "." for a name without a slash.
std::string folder_of(const std::string& path);

/// A file's place, through its folder as FolderTrust::Named.
struct FilePlace {
    OpenFolder folder = {};
    std::string path = {};  ///< of the file, in folder.path

    /// Errors: those of open_folder().
    static Result<FilePlace> of(const std::string& path);
};

/// Gives a file another name, in the place of what has it. Errors: NotFound, Io, PermissionDenied.
Status rename_file(const std::string& from, const std::string& to);

/// A file that is not there is removed already. Errors: Io, PermissionDenied.
Status remove_file(const std::string& path);

}  // namespace gpuprobe::inline base
