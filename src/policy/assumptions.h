// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/fact.h"
#include "report/report.h"

/// Facts that a request assumes, such as "glibc=2.39", for captures and bug reports that lack these
/// facts. An assumption applies only if the report does not contain the fact.
namespace gpuprobe::inline policy {

/// The error in one assumption; nullopt if the assumption is valid. A valid assumption is a term
/// with the operator "=" about the host or about GPUs.
std::optional<std::string> assumption_problem(std::string_view text);

/// The assumed facts and their values, in the form in which answers contain them.
std::map<std::string, std::string> assumed_values(const std::vector<std::string>& assumptions);

/// Adds the assumptions to the report. Each assumption applies to the host or to all GPUs. Errors:
/// InvalidRequest for an invalid assumption, for a fact that has another value on this machine, and
/// for a fact about GPUs that none of this machine's GPUs can have.
Result<Report> assuming(const Report& report, const std::vector<std::string>& assumptions);

/// The value of the fact in the report's assumptions; nullopt if the report does not assume the
/// fact.
std::optional<AnyFact> assumed_fact(const Report& report, const FactRow& row);

}  // namespace gpuprobe::inline policy
