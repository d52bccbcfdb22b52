// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "export/subject.h"

namespace gpuprobe::inline exports {

/// What became of the variants of one product.
struct Verdicts {
    std::string product = {};
    std::vector<std::string> supported = {};    ///< in the order in which to try them
    std::vector<std::string> unsupported = {};  ///< by name
    std::optional<std::string> best = {};       ///< what recommend takes, if its name is fit
};

/// In the order of the answers. What has a name that no engine takes, is left out and named in
/// `left_out`.
std::vector<Verdicts> verdicts_of(const ExportSubject& subject,
                                  std::vector<ExportRemark>& left_out);

/// Lower-case letters, digits, '.', '_' and '-', with a letter or digit at both ends, at most
/// kMaxFleetName: two of them and "variant." fit a label's 63 characters.
bool is_fleet_name(std::string_view name);
constexpr std::size_t kMaxFleetName = 31;

/// The name with every other character than a letter, digit or '_' as '_'.
std::string identifier_of(std::string_view name);

}  // namespace gpuprobe::inline exports
