// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "base/value.h"
#include "policy/decision.h"
#include "policy/rules.h"
#include "report/report.h"

/// Describes a machine in the formats of orchestrators and monitoring systems.
namespace gpuprobe::inline exports {

/// The input of an export. The component reads nothing else: no files, clock or environment.
struct ExportSubject {
    const Report& report;
    const Rules& rules;
    std::vector<Recommendation> answers = {};  ///< one per application, with all candidates
    std::string version = {};                  ///< version of the exporting program
    std::string node = {};                     ///< the machine's name in its cluster
    std::optional<WallTime> observed = {};     ///< when this state was observed
    std::optional<WallTime> expires = {};      ///< when readers should discard the export
    /// Problems with GPUs: `[{"id", "severity", "gpus"}]`, found from the report only.
    Value findings = Value{Value::Array{}};
};

/// A reason why something is missing in an export, or why the export was refused.
struct ExportRemark {
    std::string code = {};  ///< listed in docs/fleet.md
    std::string text = {};  ///< for people; without a full stop
    bool operator==(const ExportRemark&) const = default;
};

/// The result of an export.
struct Exported {
    std::optional<std::string> text = {};     ///< absent: refused
    std::vector<ExportRemark> left_out = {};  ///< missing parts, or the reasons for the refusal
    std::vector<ExportRemark> notes = {};     ///< good to know

    /// An export that was refused.
    static Exported refused(std::string code, std::string text) {
        return {.left_out = {{.code = std::move(code), .text = std::move(text)}}};
    }
};

}  // namespace gpuprobe::inline exports
