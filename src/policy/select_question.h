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

/// A profile and a request made one: every word is a backend of ours or the id of a GPU.
struct SelectQuestion {
    const Profile& profile;                   // borrowed for one decision
    std::vector<std::string> preferred = {};  ///< GPU backends that the request puts first
    std::vector<std::string> backends = {};   ///< all GPU backends, in order of preference
    std::optional<std::set<std::string>> built = {};
    std::optional<std::set<std::string>> only = {};
    std::set<std::string> denied = {};
    std::set<std::string> denied_gpus = {};
    std::optional<std::vector<std::string>> gpus = {};  ///< ids, in the order of the request
    /// What `backend` asks for; may be empty, and ends with the CPU where that will do as well.
    std::optional<std::vector<std::string>> forced = {};
    std::string requested = "auto";   ///< the word of `backend`, as the summary shows it
    bool is_unknown_request = false;  ///< the word was none, and the profile takes it for "auto"
    bool any_vendor = false;
    bool ranks_by_measurement = false;
    bool requires_verified = false;
    bool is_simulated = false;  ///< the report's GPUs are made up: they have no facts
    std::vector<std::string> require = {};
    InstalledNeeds published = {};  ///< of the variants there are, where nobody tells the build
    /// Of the variants and of the build that the request tells of; each must be met.
    std::vector<InstalledNeeds> installed = {};
    bool strict = false;
    std::optional<Bytes> min_memory = {};
    std::vector<ReportedFailure> failures = {};  ///< by our backend names
    std::map<std::string, std::string> callers_environment = {};
    IntegratedPolicy integrated = IntegratedPolicy::Fallback;
    /// Those of the caller's variables by which the program uses integrated GPUs after all.
    std::map<std::string, std::string> integrated_by = {};

    /// The consumer's word for a backend.
    [[nodiscard]] std::string word_for(const std::string& backend) const;
    /// Whether the request is for this backend and, if it is the CPU, for nothing else.
    [[nodiscard]] bool asks_for(std::string_view backend) const;
    /// The backends that the caller has, by the consumer's names, in the profile's order.
    [[nodiscard]] std::vector<std::string> compiled() const;
    /// The backends that the profile has for a vendor, in order of preference for one GPU.
    [[nodiscard]] std::vector<std::string> backends_for(
        const std::optional<std::string>& vendor) const;
};

/// The backend of the profile that a word names: by the consumer's name or, where no other has
/// taken that name, by ours. The CPU is one also where the profile forbids it: asking for it is no
/// mistake, only in vain.
std::optional<std::string> backend_named(const Profile& profile, const std::string& word);

/// Errors: as select().
Result<SelectQuestion> question_from(const Profile& profile,
                                     const SelectRequest& request,
                                     const Report& report,
                                     const Experience& experience,
                                     const Manifest* product = nullptr);

}  // namespace gpuprobe::inline policy
