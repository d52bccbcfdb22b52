// SPDX-License-Identifier: Apache-2.0
#include "policy/made_up.h"

#include <algorithm>

#include "base/text.h"
#include "policy/answers.h"
#include "policy/profile.h"

namespace gpuprobe::inline policy {
namespace {

/// The application's name for a backend.
std::string word_for(const Profile& profile, const std::string& backend) {
    const auto found = profile.translate.find(backend);
    return found == profile.translate.end() ? backend : found->second;
}

/// The vendor of the simulated GPU; nullopt if the backend serves several vendors.
std::optional<std::string> vendor_for(std::string_view backend) {
    const auto vendor = vendor_of_backend(backend);
    return vendor.empty() ? std::nullopt : std::optional<std::string>{vendor};
}

/// A simulated GPU on which only `backend` is usable.
Gpu made_up_gpu(const Profile& profile, const std::string& backend) {
    Gpu gpu{.id = "fake:" + word_for(profile, backend), .kind = GpuKind::Discrete};
    gpu.vendor = vendor_for(backend);
    gpu.name = "made up for " + word_for(profile, backend);
    for (const auto& other : profile.backends)
        if (other == backend)
            gpu.backends[other] = {.usable = true, .reasons = {because("simulated")}};
        else if (other != kCpu)
            gpu.backends[other] = {.usable = false, .reasons = {because("not-listed")}};
    return gpu;
}

/// A candidate with the reasons against it that follow from the request.
Candidate candidate_on(const std::string& word, const SelectRequest& request) {
    Candidate candidate{.backend = word, .verdict = Verdict::Accepted};
    const auto reject = [&candidate](Reason why) {
        candidate.verdict = Verdict::Rejected;
        candidate.reasons.push_back(std::move(why));
    };
    const auto requested =
        request.backend ? std::optional{std::vector{*request.backend}} : request.only;
    // With acceleration switched off only the CPU remains, and the requested backends are ignored.
    if (is_switched_off(request) && word != kCpu)
        reject(because("switched-off"));
    else if (!is_switched_off(request) && requested && !contains(*requested, word))
        reject(because("not-requested", {{"requested", to_value(*requested)}}));
    if (request.built && !contains(*request.built, word))
        reject(because("not-built", {{"built", to_value(*request.built)}}));
    if (contains(request.deny, word))
        reject(because("denied", {{"backend", word}}));
    return candidate;
}

/// The profile's message for the choice. Situations that depend on the machine can't occur here.
std::vector<std::string> messages_for(const Profile& profile, const Decision& decision) {
    const auto* const situation = decision.backend ? "selected:" : "none:";
    const auto found = profile.messages.find(situation + decision.backend.value_or(""));
    // Skip texts that contain facts: they need a probed machine.
    if (found == profile.messages.end() || found->second.find('{') != std::string::npos)
        return {};
    return {found->second};
}

}  // namespace

Report simulated_report(const Profile& profile,
                        const std::vector<std::string>& backends,
                        const Report& report) {
    Report simulated{.generation = report.generation, .state = report.state};
    simulated.host = report.host;
    for (const auto& backend : profile.backends) {
        // Accept the application's name for a backend as well as ours.
        const bool is_named = contains(backends, "gpu") || contains(backends, backend) ||
                              contains(backends, word_for(profile, backend));
        if (is_named && backend != kCpu)
            simulated.gpus.push_back(made_up_gpu(profile, backend));
    }
    return simulated;
}

Decision decision_for_platform(const Profile& profile,
                               const SelectRequest& request,
                               const std::string& platform) {
    Decision decision{.consumer = profile.name};
    const auto found = profile.platforms.find(platform);
    std::string accepted;
    if (found == profile.platforms.end()) {
        // Without a list for the platform every backend is rejected.
        for (const auto& backend : profile.backends)
            decision.candidates.push_back(
                {.backend = word_for(profile, backend),
                 .verdict = Verdict::Rejected,
                 .reasons = {because("platform-not-in-profile", {{"platform", platform}})}});
    } else {
        // The first accepted backend in the platform's order is the choice.
        for (const auto& word : found->second) {
            auto candidate = candidate_on(word, request);
            if (candidate.verdict == Verdict::Accepted) {
                accepted += (accepted.empty() ? "" : ",") + word;
                if (!decision.backend)
                    decision.backend = word;
            }
            decision.candidates.push_back(std::move(candidate));
        }
    }
    decision.summary = "requested=" + request.backend.value_or("auto") + " detected=[" + accepted +
                       "] selected=" + decision.backend.value_or("none");
    // Answers may still depend on the platform and the backend, so use an empty report.
    const Report nothing;
    decision.answers = answers_of(profile,
                                  Facts{{.report = nothing,
                                         .backend_word = decision.backend.value_or(""),
                                         .platform = platform}},
                                  {.report = nothing});
    decision.messages = messages_for(profile, decision);
    if (!request.include_rejected)
        std::erase_if(decision.candidates, [](const Candidate& candidate) {
            return candidate.verdict == Verdict::Rejected;
        });
    return decision;
}

}  // namespace gpuprobe::inline policy
