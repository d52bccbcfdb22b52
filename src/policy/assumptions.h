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

/// Facts that a request assumes, for captures and bug reports that lack them: "glibc=2.39". They
/// replace only what the report does not know.
namespace gpuprobe::inline policy {

/// The error in one assumption, which is a term with "=" about the host or about GPUs; nullopt if
/// it is valid.
std::optional<std::string> assumption_problem(std::string_view text);

/// The assumptions as facts and their values, for answers.
std::map<std::string, std::string> assumed_values(const std::vector<std::string>& assumptions);

/// The report with the assumptions, each of which holds for the host or for all GPUs. Errors:
/// InvalidRequest for an invalid one, for a fact that has another value here, and for a fact about
/// GPUs that no GPU here can have.
Result<Report> assuming(const Report& report, const std::vector<std::string>& assumptions);

/// The value that the report's assumptions give to the fact; nullopt without one.
std::optional<AnyFact> assumed_fact(const Report& report, const FactRow& row);

}  // namespace gpuprobe::inline policy
