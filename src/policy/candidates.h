// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/decision.h"
#include "policy/recommend.h"
#include "policy/select.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

struct MachineFacts;

/// The published variants for this platform. All members are borrowed for one decision.
struct PublishedVariants {
    const VariantPlatform& platform;
    const MachineFacts& machine;
    /// an administrator's rule about variants; empty if there is no such rule
    const RecommendRequest& request;
    std::span<const FailedVariant> failed;
};

/// A profile and a request combined. Every word is resolved to one of gpuprobe's backends or to a
/// GPU id.
struct SelectQuestion {
    const Profile& profile;                   // borrowed for one decision
    std::vector<std::string> preferred = {};  ///< GPU backends that the request prefers
    std::vector<std::string> backends = {};   ///< all GPU backends, in order of preference
    std::optional<std::set<std::string>> built = {};
    std::optional<std::set<std::string>> only = {};
    std::set<std::string> denied = {};
    std::set<std::string> denied_gpus = {};
    /// ids of GPUs, in the order of the request
    std::optional<std::vector<std::string>> gpus = {};
    /// The backends that `backend` requests. The list may be empty, and ends with the CPU if the
    /// CPU is acceptable too.
    std::optional<std::vector<std::string>> forced = {};
    std::string requested = "auto";  ///< the value of `backend`, for the summary
    /// Whether the value of `backend` is unknown and the profile treats it as "auto".
    bool is_unknown_request = false;
    bool any_vendor = false;
    bool ranks_by_measurement = false;
    bool requires_verified = false;
    bool is_simulated = false;  ///< whether the report's GPUs are simulated and have no facts
    std::vector<Predicate> require = {};
    /// The published variants, from which the choice is made; null if the request describes the
    /// build, or if no variant is published for this platform.
    const PublishedVariants* published = nullptr;
    /// The installed variant, if the request names exactly one.
    std::optional<std::string> variant = {};
    /// The needs of the variants and of the build that the request describes. All needs must be
    /// met.
    std::vector<InstalledNeeds> installed = {};
    bool strict = false;
    std::optional<Bytes> min_memory = {};
    std::vector<ReportedFailure> failures = {};  ///< failures under gpuprobe's backend names
    std::map<std::string, std::string> callers_environment = {};
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    /// The caller's variables that make the program use integrated GPUs.
    std::map<std::string, std::string> integrated_by = {};

    /// The application's name for a backend.
    [[nodiscard]] std::string word_for(const std::string& backend) const;
    /// Whether the request asks for this backend. A request asks for the CPU only if it asks for no
    /// other backend.
    [[nodiscard]] bool asks_for(std::string_view backend) const;
    /// The backends with which the application was built, under the application's names and in the
    /// profile's order.
    [[nodiscard]] std::vector<std::string> compiled() const;
    /// The profile's backends for GPUs from a vendor, in order of preference for one GPU.
    [[nodiscard]] std::vector<std::string> backends_for(
        const std::optional<std::string>& vendor) const;
};

/// The backend in the profile to which a word refers. The word is the application's name or, unless
/// another backend has that name, gpuprobe's name. A request may name the CPU even if the profile
/// forbids the CPU; the candidate is rejected later.
std::optional<std::string> backend_named(const Profile& profile, const std::string& word);

/// Combines profile and request. Errors: as select().
Result<SelectQuestion> question_from(const Profile& profile,
                                     const SelectRequest& request,
                                     const Report& report,
                                     const Experience& experience,
                                     const Manifest* manifest = nullptr);

// Functions that judge each candidate separately, before candidates are compared. Reason codes:
// docs/reasons.md.

/// A candidate, in which `candidate.backend` is gpuprobe's name for the backend. `gpu` is the
/// candidate's GPU, borrowed from the report; it is null if the candidate has no GPU.
struct Judged {
    const Gpu* gpu = nullptr;
    Candidate candidate = {};
    /// Whether the GPU is an integrated GPU that is used only as a fallback.
    bool is_fallback = false;
    bool lacks_facts = false;  ///< whether a requirement is about an unknown fact
    /// The predicate in the profile's `prefers` that does not hold, which places an accepted
    /// candidate behind the others; null if all predicates hold.
    const Predicate* lacks = nullptr;
    bool is_accelerator = false;  ///< whether `gpu` represents an accelerator
    /// Whether the variant that the choice assumes can use the candidate.
    bool is_in_variant = true;
    std::optional<double> score = {};  ///< measured score (report/trial_results.h)

    /// Rejects the candidate and adds the reason.
    void reject(Reason reason);
};

bool is_accepted(const Judged& judged);
/// Whether the candidate is accepted and, if the choice assumes a variant, belongs to this variant.
bool may_be_chosen(const Judged& judged);

/// Judges one backend on one GPU.
Judged judge(const SelectQuestion& question,
             const std::string& backend,
             const Gpu& gpu,
             const Report& report);

/// The candidates of a backend that belong to no GPU; empty if a GPU can use the backend.
/// Otherwise, each software device of the backend is a rejected candidate. If the machine has
/// neither a software device nor a GPU, the only candidate explains the state of the API. `report`
/// is the report of a SelectionMachine; a backend for accelerators needs an accelerator in that
/// report instead of a GPU.
std::vector<Judged> judge_without_gpu(const SelectQuestion& question,
                                      const std::string& backend,
                                      const Report& report);

/// The candidate for a backend that was not examined because the request wants no GPU.
Judged judge_switched_off(const std::string& backend);

/// Judges the CPU.
Judged judge_cpu(const SelectQuestion& question, const Report& report);

// The first half of a selection: each candidate is judged, then the candidates are compared.
// policy/select.cpp derives the variables and answers from the choice.

/// Every candidate with its final verdict.
struct Attempt {
    std::vector<Judged> all = {};            ///< all candidates, in order of preference
    std::vector<std::string> detected = {};  ///< detected backends, under the application's names
    bool was_given_up = false;               ///< whether the requested backend is not available
    const Variant* assumed = nullptr;        ///< the published variant that the choice assumes
    /// The warning that no published variant is usable, or that none uses the preferred backend.
    std::optional<Reason> variant_warning = {};
    /// The recommended conditions of the assumed variant that do not hold, such as missing
    /// libraries.
    std::vector<Reason> variant_lacks = {};

    /// The choice: the fastest candidate if measurements count, otherwise the first accepted
    /// candidate that no other backend on the same GPU outranks, otherwise the CPU. Null if no
    /// candidate can be chosen.
    [[nodiscard]] const Judged* best(const SelectQuestion& question) const;
};

/// Looks for candidates that satisfy the request. If there are none, but the request is not strict
/// and the profile permits another backend, the function tries again without the requested backend.
Attempt attempt_or_give_up(SelectQuestion& question,
                           const SelectRequest& request,
                           const Report& report);

/// Limits the choice to the best published variant, and rejects candidates that no usable variant
/// can use. If no variant is usable, the candidates are not changed and a warning is added. `view`
/// contains the unchanged candidates.
void keep_to_variants(const SelectQuestion& question,
                      const Report& report,
                      const SelectionView& view,
                      Attempt& made);

}  // namespace gpuprobe::inline policy
