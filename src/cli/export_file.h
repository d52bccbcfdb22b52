// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "export/formats.h"

/// Writes exports to files, and compares existing files with a new export.

namespace gpuprobe::inline cli {

/// How long exported data is valid, for formats with an expiry date. A file is written again when
/// half of its validity period has passed.
constexpr std::chrono::hours kExportLife{24};

/// Checks that the program that reads this format would read a file at `path`. Errors:
/// InvalidRequest.
Status check_export_path(const ExportFormat& format, std::string_view path);

/// The result of writing an export.
struct Placed {
    bool is_written = false;                   ///< whether the file was written
    std::optional<ExportRemark> refusal = {};  ///< the reason why the file wasn't changed
    /// If the refusal is "unsettled", the lines that would have been lost.
    std::vector<std::string> would_lose = {};
};

/// The default for --mode: all users may read the file.
constexpr unsigned kExportMode = 0644;

/// Writes `text` to the file atomically, with the permission bits `mode`. Refusals: "collision" if
/// another file in the folder has the same export; "unsettled" if lines would be lost because a
/// probe was interrupted. Errors: Io or PermissionDenied; NotFound for a missing folder.
Result<Placed> place_export(const ExportFormat& format,
                            const std::string& path,
                            const std::string& text,
                            const Report& report,
                            unsigned mode,
                            WallTime now);

/// The differences between a file and a new export, ignoring dates.
struct ExportDifference {
    /// A problem of the file itself: it is missing, expired or executable.
    std::optional<std::string> reason = {};
    std::vector<std::string> lost = {};    ///< lines that are only in the file
    std::vector<std::string> gained = {};  ///< lines that are only in the export
    [[nodiscard]] bool is_none() const { return !reason && lost.empty() && gained.empty(); }
};

/// Compares a file with a new export. A missing file is a difference. Errors: the same as for
/// FileSystem::read().
Result<ExportDifference> export_difference(const std::string& path,
                                           const std::string& text,
                                           WallTime now);

}  // namespace gpuprobe::inline cli
