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

/// One backend on one GPU (or on none: cpu, and backends no GPU offers) and what became of it.
struct Candidate {
    std::string backend = {};
    std::optional<std::string> gpu = {};
    Verdict verdict = Verdict::Unknown;
    std::vector<Reason> reasons = {};
    /// Of an accepted one: what makes the consumer use it and nothing else.
    std::map<std::string, std::string> environment = {};
    bool operator==(const Candidate&) const = default;
};
RECORD_MEMBERS(Candidate, backend, gpu, verdict, reasons, environment)

/// The answer to "which backend?". `backend` is null when nothing satisfies the request; the
/// candidates then say why, as they do otherwise.
struct Decision {
    std::string consumer = {};
    std::optional<std::string> backend = {};
    std::vector<std::string> gpus = {};
    std::map<std::string, std::string> environment = {};
    std::string summary = {};  ///< "requested=auto detected=[vulkan,cpu] selected=vulkan"
    std::map<std::string, std::string> answers = {};  ///< what else the consumer wants to know
    std::vector<std::string> messages = {};           ///< the consumer's own texts on this
    std::vector<Candidate> candidates = {};
    std::vector<Reason> warnings = {};  ///< why it may not be what is used; what is out of date
    std::uint64_t generation = 0;
    bool operator==(const Decision&) const = default;
};
RECORD_MEMBERS(Decision, consumer, backend, gpus, environment, answers, messages, candidates,
               warnings, ("decision", summary), generation)

}  // namespace gpuprobe::inline policy
