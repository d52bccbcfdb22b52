// SPDX-License-Identifier: Apache-2.0
#include "cli/export_file.h"

#include <cerrno>
#include <filesystem>

#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "explain/phrase.h"
#include "report/outcome.h"

namespace gpuprobe::inline cli {
namespace {

constexpr Bytes kMaxExportFile = mib(1);

/// The expiry time in an export; nullopt if the export has none.
std::optional<WallTime> expiry_of(std::string_view text) {
    constexpr std::string_view kStart = "# +expiry-time=";
    for (const auto line : split(text, '\n'))
        if (line.starts_with(kStart))
            return instant_from(line.substr(kStart.size()));
    return std::nullopt;
}

/// Whether the file need not be written again. An export with an expiry time is fresh if only dates
/// differ and at least half of its lifetime is left. Exports without an expiry time must be equal,
/// so that the dates in the file stay correct.
bool is_fresh(const std::string& there, const std::string& text, WallTime now) {
    const auto expiry = expiry_of(there);
    if (!expiry)
        return there == text;
    return is_same_export(there, text) && *expiry - now > kExportLife / 2;
}

/// Whether the file has exactly the permission bits `mode`. Ansible runs an executable .fact
/// instead of reading it, and a file that its reader may not open is useless.
bool has_mode(const std::string& path, unsigned mode) {
    const auto status = RootedFiles{}.status(path);
    return status && (status->mode & 07777) == mode;
}

/// The absolute path of the file. The path must be absolute because the folder of the file is
/// examined.
std::filesystem::path whole(const std::string& path) {
    return std::filesystem::absolute(path).lexically_normal();
}

/// The content of the file. A symbolic link counts as a missing file: the link will be replaced,
/// and its target must not be read.
Result<std::string> present(const std::filesystem::path& file) {
    const auto place = TRY(FilePlace::of(file.native()));
    std::error_code ignored;
    if (std::filesystem::is_symlink(place.path, ignored))
        return errno_error(file.native(), ENOENT);
    return RootedFiles{}.read(place.path, kMaxExportFile);
}

/// Another file in the same folder that contains an export of this format. The reader would read
/// both files.
std::optional<ExportRemark> collision_beside(const ExportFormat& format,
                                             const std::filesystem::path& file) {
    if (format.marker.empty())
        return std::nullopt;
    const RootedFiles files;
    const auto names = files.list(file.parent_path().native());
    if (!names)
        return std::nullopt;  // writing the file will report the error
    for (const auto& name : *names) {
        // Ignore files that the reader would not read.
        const bool is_read =
            format.suffix.empty() ? !name.starts_with('.') : name.ends_with(format.suffix);
        if (!is_read || name == file.filename().native())
            continue;
        const auto other = (file.parent_path() / name).native();
        if (const auto text = files.read(other, kMaxExportFile);
            text && text->find(format.marker) != std::string::npos)
            return ExportRemark{
                .code = "collision",
                .text = phrase("{file} defines the same devices: remove one of the two files",
                               {{"file", other}})};
    }
    return std::nullopt;
}

}  // namespace

Status check_export_path(const ExportFormat& format, std::string_view path) {
    const std::string name{format.name};
    if (format.written_first == WrittenFirst::NoFile)
        return Error{ErrorCode::InvalidRequest,
                     phrase("export {format}: this format is printed only on standard output, "
                            "because the cluster's administrator must install the file",
                            {{"format", name}})};
    // Readers skip hidden files.
    const auto file = path.substr(path.rfind('/') + 1);
    if (file.starts_with('.') || file.empty())
        return Error{ErrorCode::InvalidRequest,
                     phrase("--output: '{file}' is hidden or is not a file",
                            {{"file", scrubbed(file, 64)}})};
    if (!file.ends_with(format.suffix))
        return Error{ErrorCode::InvalidRequest,
                     phrase("--output: the name of a {format} file must end in {suffix}, because "
                            "programs ignore other files",
                            {{"format", name}, {"suffix", std::string{format.suffix}}})};
    return Done{};
}

Result<Placed> place_export(const ExportFormat& format,
                            const std::string& path,
                            const std::string& text,
                            const Report& report,
                            unsigned mode,
                            WallTime now) {
    const auto file = whole(path);
    if (auto collision = collision_beside(format, file))
        return Placed{.refusal = std::move(collision)};
    const auto there = present(file);
    if (there && is_fresh(*there, text, now) && has_mode(file.native(), mode))
        return Placed{};
    // Don't remove exported lines only because a driver crashed or hung once.
    if (there && is_unsettled(report))
        if (auto lost = lost_lines(*there, text); !lost.empty())
            return Placed{
                .refusal = ExportRemark{.code = "unsettled",
                                        .text = phrase("{file} is unchanged, because a probe was "
                                                       "interrupted and the next result may differ",
                                                       {{"file", path}})},
                .would_lose = std::move(lost)};
    const auto folder = file.parent_path();
    if (!RootedFiles{}.exists(folder.native()))
        return Error{ErrorCode::NotFound, fmt::format("folder {} does not exist; check that the "
                                                      "program that reads this folder is installed",
                                                      scrubbed(folder.native(), 512))};
    // The temporary file must not be noticed by the reader, which may watch the folder.
    const bool is_above = format.written_first == WrittenFirst::FolderAbove;
    const auto from = is_above ? folder.parent_path() : folder;
    TRY(write_atomically_from(from.native(), file.native(), text, mode));
    return Placed{.is_written = true};
}

Result<ExportDifference> export_difference(const std::string& path,
                                           const std::string& text,
                                           WallTime now) {
    const auto file = whole(path).native();
    const auto there = RootedFiles{}.read(file, kMaxExportFile);
    if (!there && there.error().code == ErrorCode::NotFound)
        return ExportDifference{.reason = "the file does not exist"};
    if (!there)
        return there.error();
    ExportDifference difference{.lost = lost_lines(*there, text),
                                .gained = lost_lines(text, *there)};
    // The file and the export have the same lines, but in a different order.
    if (difference.is_none() && !is_same_export(*there, text))
        difference.reason = "the lines are in a different order";
    if (const auto expiry = expiry_of(*there); expiry && *expiry <= now)
        difference.reason = "the file has expired";
    // See has_mode() for the reason.
    if (const auto status = RootedFiles{}.status(file); status && (status->mode & 0111) != 0)
        difference.reason = "the file is executable";
    return difference;
}

}  // namespace gpuprobe::inline cli
