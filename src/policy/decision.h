// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "policy/truth.h"
#include "report/outcome.h"

namespace gpuprobe::inline policy {

/// One backend on one GPU (or without a GPU: cpu, and backends that no GPU supports) and its
/// verdict.
struct Candidate {
    std::string backend = {};
    std::optional<std::string> gpu = {};
    Verdict verdict = Verdict::Unknown;
    std::vector<Reason> reasons = {};
    /// For an accepted candidate: the variables that make the application use only it.
    std::map<std::string, std::string> environment = {};
    bool operator==(const Candidate&) const = default;
};
RECORD_MEMBERS(Candidate, backend, gpu, verdict, reasons, environment)

/// The answer to "which backend?". `backend` is null if no candidate satisfies the request. The
/// candidates contain the reasons in either case.
struct Decision {
    std::string consumer = {};
    std::optional<std::string> backend = {};
    std::vector<std::string> gpus = {};
    std::map<std::string, std::string> environment = {};
    std::string summary = {};  ///< "requested=auto detected=[vulkan,cpu] selected=vulkan"
    std::map<std::string, std::string> answers = {};  ///< further answers for the application
    std::vector<std::string> messages = {};           ///< the application's message texts
    std::vector<Candidate> candidates = {};
    /// Reasons why the choice may not be used, and outdated data.
    std::vector<Reason> warnings = {};
    std::uint64_t generation = 0;
    bool operator==(const Decision&) const = default;
};
RECORD_MEMBERS(Decision, consumer, backend, gpus, environment, answers, messages, candidates,
               warnings, ("decision", summary), generation)

}  // namespace gpuprobe::inline policy
