// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/select_question.h"
#include "report/report.h"

/// The verdict on each candidate by itself, before candidates are compared. Reason codes:
/// docs/reasons.md.
namespace gpuprobe::inline policy {

/// A candidate under our backend name, with its GPU (borrowed from the report; null for none).
struct Judged {
    const Gpu* gpu = nullptr;
    Candidate candidate = {};
    bool is_fallback = false;          ///< an integrated GPU, used only as a fallback
    std::optional<double> score = {};  ///< measured (report/trial_results.h)

    /// Rejects the candidate and adds the reason.
    void reject(Reason reason);
};

bool is_accepted(const Judged& judged);

/// Judges one backend on one GPU.
Judged judge(const SelectQuestion& question,
             const std::string& backend,
             const Gpu& gpu,
             const Report& report);

/// Judges a backend without a GPU: its software devices if no GPU of the machine can use it, and
/// the state of its API if the machine has no GPU.
std::vector<Judged> judge_without_gpu(const SelectQuestion& question,
                                      const std::string& backend,
                                      const Report& report);

/// A backend that wasn't examined because the request wants no GPU.
Judged judge_switched_off(const std::string& backend);

/// Judges the CPU.
Judged judge_cpu(const SelectQuestion& question, const Report& report);

}  // namespace gpuprobe::inline policy
