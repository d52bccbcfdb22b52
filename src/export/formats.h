// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export/subject.h"

namespace gpuprobe::inline exports {

/// Where a file of a format is first written, before it is renamed to its name.
enum class WrittenFirst {
    Beside,       ///< in the same folder, under a name that no reader takes
    FolderAbove,  ///< in the folder above: the reader wastes its one event on whatever appears
    NoFile,       ///< an administrator installs it: a change may take a machine out of service
};

struct ExportFormat {
    std::string_view name = {};
    std::string_view summary = {};
    Exported (*write)(const ExportSubject& subject) = nullptr;
    WrittenFirst written_first = WrittenFirst::Beside;
    std::string_view suffix = {};  ///< that a file must have to be read; empty: any
    std::string_view usual = {};   ///< where it usually is
    /// What a file of this format says of itself. Another file in the same folder with the same
    /// suffix that says so would make both useless. Empty where that is no harm.
    std::string_view marker = {};
};

/// In the order of the help.
std::span<const ExportFormat> export_formats();
/// Null for an unknown name.
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
Exported write_condor_cron(const ExportSubject& subject);
Exported write_nomad_meta(const ExportSubject& subject);
Exported write_ray_labels(const ExportSubject& subject);

/// The feature of a Slurm node on which a variant runs: "var_llamacpp_cuda13".
std::string slurm_verdict_word(std::string_view product, std::string_view variant);

/// Whether two texts differ only in when they were made and when they expire.
bool says_the_same(std::string_view left, std::string_view right);

/// Lines of `before` that `after` lacks, apart from dates.
std::vector<std::string> lost_lines(std::string_view before, std::string_view after);

/// Whether something that a probe did not finish may be missing from the report: a driver crashed
/// or hung and is to be asked again, or probes are running. Such a report takes nothing away from
/// what a fleet was told.
bool is_unsettled(const Report& report);

}  // namespace gpuprobe::inline exports
