// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "base/value.h"
#include "policy/decision.h"
#include "policy/rules.h"
#include "report/report.h"

/// Functions that describe a machine in the formats of orchestrators and monitoring systems.

namespace gpuprobe::inline exports {

/// The input of an export. This component reads no other input: no files, no clock and no
/// environment variables.
struct ExportSubject {
    const Report& report;
    const Rules& rules;
    /// A recommendation for each application, with all candidates.
    std::vector<Recommendation> answers = {};
    std::string version = {};               ///< version of the exporting program
    std::string node = {};                  ///< the machine's name in its cluster
    std::optional<WallTime> observed = {};  ///< the time at which the machine had this state
    std::optional<WallTime> expires = {};   ///< the time when readers should discard the export
    /// Problems with GPUs that were found in the report, as a list of {"id", "severity", "gpus"}.
    Value findings = Value{Value::Array{}};
};

/// A reason why something is missing in an export, or why the export was refused.
struct ExportRemark {
    std::string code = {};  ///< one of the codes in docs/fleet.md
    std::string text = {};  ///< a message for people, without a full stop
    bool operator==(const ExportRemark&) const = default;
};

/// The result of an export.
struct Exported {
    std::optional<std::string> text = {};     ///< the content; absent if the export was refused
    std::vector<ExportRemark> left_out = {};  ///< missing parts, or the reasons for the refusal
    std::vector<ExportRemark> notes = {};     ///< advice for the administrator

    /// The result for an export that was refused.
    static Exported refused(std::string code, std::string text) {
        return {.left_out = {{.code = std::move(code), .text = std::move(text)}}};
    }
};

/// The path to which a new file is written before it is renamed to its final name.
enum class WrittenFirst {
    Beside,  ///< a path in the same folder, with a name that readers ignore
    /// The file is in the parent folder first, so that the reader, which reacts to each new name in
    /// its folder, gets only one event.
    FolderAbove,
    NoFile,  ///< an administrator installs the file, because a change may disrupt the machine
};

/// True for a name of lower-case letters, digits, '.', '_' and '-' that begins and ends with a
/// letter or digit and has at most kMaxFleetName characters, so that two such names and "variant."
/// fit into the 63 characters of a label.
bool is_fleet_name(std::string_view name);
constexpr std::size_t kMaxFleetName = 31;

/// An export format.
struct ExportFormat {
    std::string_view name = {};
    std::string_view summary = {};
    Exported (*write)(const ExportSubject& subject) = nullptr;
    WrittenFirst written_first = WrittenFirst::Beside;
    std::string_view suffix = {};  ///< the suffix that readers require; if empty, any suffix
    std::string_view usual = {};   ///< the usual path of the file
    /// A string that each file of this format contains; set only if two files of this format with
    /// the same suffix in one folder would make each other useless.
    std::string_view marker = {};
};

/// All formats, in the order in which the help lists them.
std::span<const ExportFormat> export_formats();
/// The format with the name `name`; null if there is no such format.
const ExportFormat* export_format(std::string_view name);

Exported write_json(const ExportSubject& subject);
Exported write_prometheus(const ExportSubject& subject);
Exported write_otlp(const ExportSubject& subject);
Exported write_ansible(const ExportSubject& subject);
Exported write_facter(const ExportSubject& subject);
Exported write_nfd(const ExportSubject& subject);
Exported write_slurm_gres(const ExportSubject& subject);
Exported write_slurm_node(const ExportSubject& subject);
Exported write_cdi(const ExportSubject& subject);
Exported write_nomad_meta(const ExportSubject& subject);
Exported write_ray_labels(const ExportSubject& subject);

/// The feature of Slurm nodes on which a variant runs, such as "var_llamacpp_cuda13".
std::string slurm_verdict_word(std::string_view application, std::string_view variant);

/// True if two exports differ only in their creation and expiry times, and in values that were
/// measured when the exports were made.
bool is_same_export(std::string_view left, std::string_view right);

/// The lines of `before` that are missing in `after`; times in the lines are ignored.
std::vector<std::string> lost_lines(std::string_view before, std::string_view after);

/// True if the report may be incomplete: probes are running, or a driver crashed or hung and will
/// be probed again. If the report may be incomplete, an export must not remove anything from the
/// previous export.
bool is_unsettled(const Report& report);

}  // namespace gpuprobe::inline exports
