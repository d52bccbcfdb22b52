// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/handle.h"
#include "base/result.h"
#include "base/value.h"

namespace gpuprobe {

/// One JSON document on disk that is read whole and right or not at all.
///
/// The file is one line, "gpuprobe-<kind> <version> <crc32 of the rest>", and then the document.
/// A reader sees the old or the new document whatever happens while it is written.
class CheckedFile {
public:
    /// `path`: the file; its folder must exist to save. `kind`: what the document is, one word.
    CheckedFile(std::string path, std::string_view kind, int version, Bytes limit);

    /// Errors: NotFound; Malformed for another kind or version, a checksum that does not fit and a
    /// text that is no JSON; TooLarge; PermissionDenied for a file of another owner, or one that
    /// others may write; Io for what is no regular file. Each text is "path: reason".
    [[nodiscard]] Result<Value> load() const;
    /// Hands the document to `read`, where there is one, and sets the file aside when it can't be
    /// loaded or `read` refuses it. Errors: as load() but NotFound, and what `read` returns.
    Status take(const std::function<Status(const Value& document)>& read) const;
    /// Errors: Io, PermissionDenied. The old file survives a failure.
    Status save(const Value& document) const;
    /// Makes this process the only one that saves: until it ends, another one that wants to is
    /// refused. True the first time: what was loaded before may be old by now. Errors: Io when
    /// another one has, and those of save().
    Result<bool> claim();
    /// Renames the file to "path.broken", in place of an earlier one, so that the next save does
    /// not destroy what nobody could read. Errors: Io, NotFound, PermissionDenied.
    Status set_aside() const;

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
    std::string magic_;
    Bytes limit_;
    UniqueFd lock_ = {};
};

}  // namespace gpuprobe
