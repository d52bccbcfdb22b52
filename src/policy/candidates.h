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

/// The published variants for this platform. Borrows everything for one decision.
struct PublishedVariants {
    const VariantPlatform& platform;
    const MachineFacts& machine;
    const RecommendRequest& request;  ///< what a rule or request says about variants
    std::span<const FailedVariant> failed;
};

/// A profile and a request combined: every word is resolved to one of our backends or a GPU id.
struct SelectQuestion {
    const Profile& profile;                   // borrowed for one decision
    std::vector<std::string> preferred = {};  ///< GPU backends that the request prefers
    std::vector<std::string> backends = {};   ///< all GPU backends, in order of preference
    std::optional<std::set<std::string>> built = {};
    std::optional<std::set<std::string>> only = {};
    std::set<std::string> denied = {};
    std::set<std::string> denied_gpus = {};
    std::optional<std::vector<std::string>> gpus = {};  ///< ids, in the order of the request
    /// The backends that `backend` requests. May be empty; ends with the CPU if that is acceptable
    /// too.
    std::optional<std::vector<std::string>> forced = {};
    std::string requested = "auto";   ///< the word of `backend` for the summary
    bool is_unknown_request = false;  ///< the word is unknown, and the profile treats it as "auto"
    bool any_vendor = false;
    bool ranks_by_measurement = false;
    bool requires_verified = false;
    bool is_simulated = false;  ///< the report's GPUs are simulated and have no facts
    std::vector<Predicate> require = {};
    /// The published variants, from which the choice is made; null if the request describes the
    /// build, or if none is published for this platform.
    const PublishedVariants* published = nullptr;
    /// The installed variant, if the request names exactly one.
    std::optional<std::string> variant = {};
    /// Needs of the variants and the build that the request describes; each must be met.
    std::vector<InstalledNeeds> installed = {};
    bool strict = false;
    std::optional<Bytes> min_memory = {};
    std::vector<ReportedFailure> failures = {};  ///< under our backend names
    std::map<std::string, std::string> callers_environment = {};
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    /// The caller's variables that make the program use integrated GPUs.
    std::map<std::string, std::string> integrated_by = {};

    /// The application's name for a backend.
    [[nodiscard]] std::string word_for(const std::string& backend) const;
    /// Whether the request asks for this backend; for the CPU, only if it asks for nothing else.
    [[nodiscard]] bool asks_for(std::string_view backend) const;
    /// The backends that are built in, under the application's names, in the profile's order.
    [[nodiscard]] std::vector<std::string> compiled() const;
    /// The profile's backends for a vendor, in order of preference for one GPU.
    [[nodiscard]] std::vector<std::string> backends_for(
        const std::optional<std::string>& vendor) const;
};

/// The profile's backend that a word names: by the application's name or, unless another backend
/// has that name, by ours. The CPU can be named even if the profile forbids it: requesting it is
/// valid, but it is rejected later.
std::optional<std::string> backend_named(const Profile& profile, const std::string& word);

/// Combines profile and request. Errors: as select().
Result<SelectQuestion> question_from(const Profile& profile,
                                     const SelectRequest& request,
                                     const Report& report,
                                     const Experience& experience,
                                     const Manifest* manifest = nullptr);

// The verdict on each candidate by itself, before candidates are compared. Reason codes:
// docs/reasons.md.

/// A candidate under our backend name, with its GPU (borrowed from the report; null for none).
struct Judged {
    const Gpu* gpu = nullptr;
    Candidate candidate = {};
    bool is_fallback = false;          ///< an integrated GPU, used only as a fallback
    bool lacks_facts = false;          ///< a requirement is about an unknown fact
    bool is_in_variant = true;         ///< the variant that the choice assumes can use it
    std::optional<double> score = {};  ///< measured (report/trial_results.h)

    /// Rejects the candidate and adds the reason.
    void reject(Reason reason);
};

bool is_accepted(const Judged& judged);
/// Whether it is accepted and belongs to the variant that the choice assumes, if there is one.
bool may_be_chosen(const Judged& judged);

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

// The first half of a selection: each candidate is judged, then they are compared.
// policy/select.cpp turns the choice into variables and answers.

/// Every candidate with its final verdict.
struct Attempt {
    std::vector<Judged> all = {};            ///< in order of preference
    std::vector<std::string> detected = {};  ///< the application's names
    bool was_given_up = false;               ///< the requested backend isn't available
    const Variant* assumed = nullptr;        ///< the published variant that the choice assumes
    /// Why a published variant isn't the best one, or why it can't be used.
    std::optional<Reason> variant_warning = {};
    /// The recommended conditions of the assumed variant that do not hold, such as missing
    /// libraries.
    std::vector<Reason> variant_lacks = {};

    /// The choice: the fastest candidate if measurements count, otherwise the first accepted
    /// candidate that isn't outdone on its GPU, otherwise the CPU. Null if none exists.
    [[nodiscard]] const Judged* best(const SelectQuestion& question) const;
};

/// Attempts the request. If it can't be met and the profile permits, attempts it again without the
/// requested backend, unless it is strict.
Attempt attempt_or_give_up(SelectQuestion& question,
                           const SelectRequest& request,
                           const Report& report);

/// Limits the choice to the best published variant, and rejects candidates that no usable variant
/// can use. If no variant is usable, the candidates stay as they are and a warning says so. `view`:
/// the candidates as they are.
void keep_to_variants(const SelectQuestion& question,
                      const Report& report,
                      const SelectionView& view,
                      Attempt& made);

}  // namespace gpuprobe::inline policy
