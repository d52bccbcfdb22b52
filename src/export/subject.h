// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/value.h"
#include "policy/recommendation.h"
#include "policy/rules.h"
#include "report/report.h"

/// What a machine says about itself, in the words of the engines that run fleets.
namespace gpuprobe::inline exports {

/// All that an export is made of. The room looks nothing up: no files, no time, no environment.
struct ExportSubject {
    const Report& report;
    const Rules& rules;
    std::vector<Recommendation> answers = {};  ///< one per product, with all candidates
    std::string version = {};                  ///< of the program that writes
    std::string node = {};                     ///< the machine's name in its cluster
    std::optional<WallTime> observed = {};     ///< when the machine was so
    std::optional<WallTime> expires = {};      ///< when a reader is to forget what it read
    /// What keeps GPUs from being used: `[{"id", "severity", "gpus"}]`, by the report alone.
    Value findings = Value{Value::Array{}};
};

/// Why something is not in an export, or was not written at all.
struct ExportRemark {
    std::string code = {};  ///< docs/fleet.md
    std::string text = {};  ///< for people; ends without a full stop
    bool operator==(const ExportRemark&) const = default;
};

/// An export, whole or refused.
struct Exported {
    std::optional<std::string> text = {};  ///< absent: refused
    std::vector<ExportRemark> left_out =
        {};  ///< what should be in it and is not, or why it is refused
    std::vector<ExportRemark> notes = {};  ///< good to know

    static Exported refused(std::string code, std::string text) {
        return {.left_out = {{.code = std::move(code), .text = std::move(text)}}};
    }
};

}  // namespace gpuprobe::inline exports
