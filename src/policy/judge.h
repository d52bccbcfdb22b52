// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/select_question.h"
#include "report/report.h"

/// The verdict on each candidate for itself, before candidates are compared. Codes:
/// docs/reasons.md.
namespace gpuprobe::inline policy {

/// A candidate by our backend name, and its GPU (borrowed from the report; null for none).
struct Judged {
    const Gpu* gpu = nullptr;
    Candidate candidate = {};
    bool is_fallback = false;          ///< an integrated GPU that the profile counts as one
    std::optional<double> score = {};  ///< as measured (report/measurement.h)

    void reject(Reason reason);
};

bool is_accepted(const Judged& judged);

/// One backend on one GPU.
Judged judge(const SelectQuestion& question,
             const std::string& backend,
             const Gpu& gpu,
             const Report& report);

/// One backend without any GPU: its software devices when no GPU of the machine can use it, and
/// what became of its API when the machine has no GPU.
std::vector<Judged> judge_without_gpu(const SelectQuestion& question,
                                      const std::string& backend,
                                      const Report& report);

/// One backend that is not even looked for, as the request wants no GPU.
Judged judge_switched_off(const std::string& backend);

/// The CPU.
Judged judge_cpu(const SelectQuestion& question, const Report& report);

}  // namespace gpuprobe::inline policy
