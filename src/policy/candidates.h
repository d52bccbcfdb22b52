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

/// The published variants for the platform of this machine. All members are borrowed for one
/// decision.
struct PublishedVariants {
    const VariantPlatform& platform;
    const MachineFacts& machine;
    /// an administrator's rule about variants; empty if there is no such rule
    const RecommendRequest& request;
    std::span<const FailedVariant> failed;
};

/// The combination of a profile and a request. Each word is replaced by one of gpuprobe's backends
/// or by a GPU id.
struct SelectQuestion {
    const Profile& profile;                   // borrowed for one decision
    std::vector<std::string> preferred = {};  ///< GPU backends that the request prefers
    std::vector<std::string> backends = {};   ///< all GPU backends, in order of preference
    std::optional<std::set<std::string>> built = {};
    std::optional<std::set<std::string>> only = {};
    std::set<std::string> denied = {};
    std::set<std::string> denied_gpus = {};
    /// ids of GPUs, in the order in which the request names them
    std::optional<std::vector<std::string>> gpus = {};
    /// The backends that the request's value of `backend` includes. The list may be empty; if the
    /// CPU is also acceptable, the list ends with the CPU.
    std::optional<std::vector<std::string>> forced = {};
    std::string requested = "auto";  ///< the value of `backend`, for the summary
    /// Whether the value of `backend` is unknown, so that the profile treats it as "auto".
    bool is_unknown_request = false;
    bool any_vendor = false;
    bool ranks_by_measurement = false;
    bool requires_verified = false;
    bool is_simulated = false;  ///< whether the report's GPUs are simulated and have no facts
    std::vector<Predicate> require = {};
    /// The published variants that the request can choose from; null if the request
    /// describes the build, or if no variant is published for this platform.
    const PublishedVariants* published = nullptr;
    /// The installed variant, if the request names exactly one variant.
    std::optional<std::string> variant = {};
    /// What the variants need, and what the build that the request describes needs. All needs must
    /// be met.
    std::vector<InstalledNeeds> installed = {};
    bool strict = false;
    std::optional<Bytes> min_memory = {};
    std::vector<ReportedFailure> failures = {};  ///< failures with gpuprobe's backend names
    std::map<std::string, std::string> callers_environment = {};
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    /// The caller's variables that cause the program to use integrated GPUs.
    std::map<std::string, std::string> integrated_by = {};

    /// The name that the application uses for a backend.
    [[nodiscard]] std::string word_for(const std::string& backend) const;
    /// Whether the request asks for the backend `backend`. A request asks for the CPU only if it
    /// does not ask for another backend.
    [[nodiscard]] bool asks_for(std::string_view backend) const;
    /// The backends with which the application was built, with the application's names and in the
    /// profile's order.
    [[nodiscard]] std::vector<std::string> compiled() const;
    /// The profile's backends for GPUs from one vendor, in the order in which they are preferred on
    /// one GPU.
    [[nodiscard]] std::vector<std::string> backends_for(
        const std::optional<std::string>& vendor) const;
};

/// The profile's backend to which a word refers. The word is the application's name for a backend
/// or, unless another backend has this name, gpuprobe's name. A request may name the CPU even if
/// the profile forbids the CPU, because the candidate is rejected later.
std::optional<std::string> backend_named(const Profile& profile, const std::string& word);

/// Combines a profile and a request. Errors: the same as for select().
Result<SelectQuestion> question_from(const Profile& profile,
                                     const SelectRequest& request,
                                     const Report& report,
                                     const Experience& experience,
                                     const Manifest* manifest = nullptr);

// The functions below judge each candidate separately, before candidates are compared. Reason
// codes: docs/reasons.md.

/// A candidate whose `candidate.backend` is gpuprobe's name for the backend. `gpu` is the GPU of
/// the candidate, borrowed from the report; null if the candidate has no GPU.
struct Judged {
    const Gpu* gpu = nullptr;
    Candidate candidate = {};
    /// Whether the GPU is an integrated GPU that is used only as a fallback.
    bool is_fallback = false;
    bool lacks_facts = false;  ///< whether a requirement is about an unknown fact
    /// The predicate in the profile's `prefers` that does not hold for this candidate, so that
    /// other accepted candidates come first; null if all predicates hold.
    const Predicate* lacks = nullptr;
    bool is_accelerator = false;  ///< whether `gpu` represents an accelerator
    /// Whether the assumed variant can use the candidate.
    bool is_in_variant = true;
    std::optional<double> score = {};  ///< measured score (report/trial_results.h)

    /// Rejects the candidate and adds the reason for the rejection.
    void reject(Reason reason);
};

bool is_accepted(const Judged& judged);
/// Whether the candidate is accepted and, if a variant is assumed, belongs to this variant.
bool may_be_chosen(const Judged& judged);

/// Judges one backend on one GPU.
Judged judge(const SelectQuestion& question,
             const std::string& backend,
             const Gpu& gpu,
             const Report& report);

/// The candidates of a backend that do not belong to a GPU; empty if a GPU can use the backend.
/// If no GPU can use the backend, each software device of the backend is a rejected candidate. If
/// the machine has neither a software device nor a GPU, the only candidate explains the state of
/// the API. `report` is the report of a SelectionMachine; a backend for accelerators needs an
/// accelerator in that report instead of a GPU.
std::vector<Judged> judge_without_gpu(const SelectQuestion& question,
                                      const std::string& backend,
                                      const Report& report);

/// The candidate for a backend that wasn't examined because the request does not want a GPU.
Judged judge_switched_off(const std::string& backend);

/// Judges the CPU.
Judged judge_cpu(const SelectQuestion& question, const Report& report);

// The first half of a selection: each candidate is judged, and then all candidates are compared.
// policy/select.cpp derives the variables and answers from the choice.

/// All candidates, with their final verdicts.
struct Attempt {
    std::vector<Judged> all = {};            ///< all candidates, in order of preference
    std::vector<std::string> detected = {};  ///< detected backends, with the application's names
    bool was_given_up = false;               ///< whether the requested backend isn't available
    const Variant* assumed = nullptr;        ///< the published variant that the choice assumes
    /// The warning that no published variant is usable, or that no published variant uses the
    /// preferred backend.
    std::optional<Reason> variant_warning = {};
    /// The conditions recommended for the assumed variant that do not hold, such as missing
    /// libraries.
    std::vector<Reason> variant_lacks = {};

    /// The chosen candidate: the fastest candidate if measurements count, otherwise the first
    /// accepted candidate that no other backend on the same GPU outranks, otherwise the CPU. Null
    /// if no candidate can be chosen.
    [[nodiscard]] const Judged* best(const SelectQuestion& question) const;
};

/// Looks for candidates that satisfy the request. If there are no such candidates, but the request
/// isn't strict and the profile permits another backend, the function tries again without the
/// requested backend.
Attempt attempt_or_give_up(SelectQuestion& question,
                           const SelectRequest& request,
                           const Report& report);

/// Limits the choice to the best published variant, and rejects candidates that no usable variant
/// can use. If no variant is usable, the function does not change the candidates, but adds a
/// warning. `view` contains the candidates as they were before.
void keep_to_variants(const SelectQuestion& question,
                      const Report& report,
                      const SelectionView& view,
                      Attempt& made);

}  // namespace gpuprobe::inline policy
