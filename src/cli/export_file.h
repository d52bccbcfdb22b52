// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "export/formats.h"

/// The files of exports on this machine.
namespace gpuprobe::inline cli {

/// How long a reader may believe what was written, of formats that say so. Written anew when half
/// of it is over.
constexpr std::chrono::hours kExportLife{24};

/// Whether a file of that name is read, by its suffix. Errors: InvalidRequest.
Status check_export_path(const ExportFormat& format, std::string_view path);

/// What became of a file.
struct Placed {
    bool is_written = false;                   ///< false: it said so already
    std::optional<ExportRemark> refusal = {};  ///< it was left as it is
    std::vector<std::string> would_lose = {};  ///< lines, of the refusal "unsettled"
};

/// The permission bits of a file that is written without --mode: everybody may read it.
constexpr unsigned kExportMode = 0644;

/// Puts `text` into the file, with the permission bits `mode`, so that no reader ever sees a part
/// of it. Refused: "collision", beside another file that says it is ours; "unsettled", when a
/// report of which a probe was cut short would take something away. Errors: Io, PermissionDenied.
Result<Placed> place_export(const ExportFormat& format,
                            const std::string& path,
                            const std::string& text,
                            const Report& report,
                            unsigned mode,
                            WallTime now);

/// What differs between a file and a text, dates apart.
struct ExportDifference {
    std::optional<std::string> reason = {};  ///< of the file as such: missing, expired, its mode
    std::vector<std::string> lost = {};      ///< lines that only the file has
    std::vector<std::string> gained = {};    ///< lines that only the text has
    [[nodiscard]] bool is_none() const { return !reason && lost.empty() && gained.empty(); }
};

/// Errors: those of FileSystem::read(), but for a file that is not there.
Result<ExportDifference> export_difference(const std::string& path,
                                           const std::string& text,
                                           WallTime now);

}  // namespace gpuprobe::inline cli
