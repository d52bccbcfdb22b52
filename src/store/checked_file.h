// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"

namespace gpuprobe::store {

/// A JSON document on disk. It is read completely and with a correct checksum, or not at all.
///
/// The file's first line is "gpuprobe-<kind> <version> <crc32 of the rest>"; the document follows.
/// A reader sees the old or the new document, never a mixture, even after a crash during a write.
class CheckedFile {
public:
    /// `path`: the file; its folder must exist to save. `kind`: the kind of document, one word.
    /// `limit`: the largest size that is read.
    CheckedFile(std::string path, std::string_view kind, int version, Bytes limit);

    /// Reads the document. Errors: NotFound; Malformed for another kind or version, a wrong
    /// checksum, or text that is not JSON; TooLarge; PermissionDenied for a file that another user
    /// owns or can write; Io if it is not a regular file. Each text is "path: reason".
    [[nodiscard]] Result<Value> load() const;
    /// Passes the document to `read` if the file exists. Sets the file aside if it can't be loaded
    /// or `read` refuses it. Errors: as load() except NotFound, and any error from `read`.
    Status take(const std::function<Status(const Value& document)>& read) const;
    /// Replaces the file. Errors: Io, PermissionDenied. The old file survives a failure.
    Status save(const Value& document) const;
    /// Makes this process the only writer until it ends. Returns true the first time: the data that
    /// was loaded earlier may then be out of date. Errors: Io if another process is the writer, and
    /// as save().
    Result<bool> claim();
    /// Renames the file to "path.broken", replacing an earlier one, so that the next save does not
    /// overwrite it. Errors: Io, NotFound, PermissionDenied.
    Status set_aside() const;

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
    std::string magic_;
    Bytes limit_;
    UniqueFd lock_ = {};  ///< held from claim() on
};

}  // namespace gpuprobe::store
