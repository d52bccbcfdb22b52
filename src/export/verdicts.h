// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/subject.h"

namespace gpuprobe::inline exports {

/// The verdicts about the variants of an application.
struct Verdicts {
    std::string product = {};
    std::vector<std::string> supported = {};    ///< in the order in which to try them
    std::vector<std::string> unsupported = {};  ///< sorted by name
    std::optional<std::string> best = {};       ///< the choice of recommend, if its name is valid
};

/// The verdicts in the order of the answers. Applications and variants with names that no
/// orchestrator accepts are skipped and reported in `left_out`.
std::vector<Verdicts> verdicts_of(const ExportSubject& subject,
                                  std::vector<ExportRemark>& left_out);

/// True for a name of lower-case letters, digits, '.', '_' and '-' that begins and ends with a
/// letter or digit and has at most kMaxFleetName characters: two such names and "variant." fit into
/// the 63 characters of a label.
bool is_fleet_name(std::string_view name);
constexpr std::size_t kMaxFleetName = 31;

/// The name with each character except letters, digits and '_' replaced by '_'.
std::string identifier_of(std::string_view name);

}  // namespace gpuprobe::inline exports
