// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "policy/select.h"

namespace gpuprobe::inline policy {

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
    std::vector<std::string> require = {};
    /// Needs of the published variants, if the request does not describe the build.
    InstalledNeeds published = {};
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
                                     const Manifest* product = nullptr);

}  // namespace gpuprobe::inline policy
