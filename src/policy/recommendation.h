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

/// One variant of the platform and what became of it.
struct VariantCandidate {
    std::string variant = {};
    std::string family = {};
    int tier = 0;
    int priority = 0;
    Verdict verdict = Verdict::Rejected;
    std::vector<std::string> gpus = {};    ///< ids of those it runs on
    std::vector<Reason> reasons = {};      ///< every predicate that is not true; docs/reasons.md
    std::vector<Reason> warnings = {};     ///< the same for what it advises
    std::optional<std::string> note = {};  ///< the manifest's
    bool operator==(const VariantCandidate&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, VariantCandidate& candidate) {
    visit("variant", candidate.variant);
    visit("family", candidate.family);
    visit("tier", candidate.tier);
    visit("priority", candidate.priority);
    visit("verdict", candidate.verdict);
    visit("gpus", candidate.gpus);
    visit("reasons", candidate.reasons);
    visit("warnings", candidate.warnings);
    visit("note", candidate.note);
}

enum class RecommendStatus {
    Ok,
    None,               ///< no variant fits
    DefaultUnverified,  ///< no variant fits, and the manifest wants its default all the same
    NoPlatform,         ///< the manifest has nothing for such a machine, as far as that is known
};
constexpr std::array<EnumName<RecommendStatus>, 4> names_of(RecommendStatus) {
    return {{{RecommendStatus::Ok, "ok"},
             {RecommendStatus::None, "none"},
             {RecommendStatus::DefaultUnverified, "default-unverified"},
             {RecommendStatus::NoPlatform, "no-platform"}}};
}

/// The answer to "which download?".
struct Recommendation {
    std::string product = {};
    std::optional<std::string> version = {};
    RecommendStatus status = RecommendStatus::None;
    std::optional<std::string> platform = {};
    std::optional<std::string> variant = {};
    std::optional<Verdict> verdict = {};  ///< of the variant: accepted or uncertain
    Value artifact = {};                  ///< of the variant, as the manifest has it
    std::map<std::string, std::string> environment = {};  ///< likewise
    std::vector<std::string> gpus = {};                   ///< ids of those it runs on
    std::vector<std::string> fallback = {};               ///< what to try next, best first
    std::optional<std::string> project_default = {};
    std::optional<std::string> hint = {};  ///< the manifest's, when nothing fits
    std::vector<Reason> warnings = {};     ///< about the variant, and about the answer as a whole
    std::vector<VariantCandidate> candidates = {};  ///< the chain in its order, then the others
    std::string manifest_sha256 = {};
    std::string rules = {};  ///< serial of the rules
    std::uint64_t generation = 0;
    bool operator==(const Recommendation&) const = default;
};
template <class Visitor>
void describe(Visitor& visit, Recommendation& answer) {
    visit("product", answer.product);
    visit("version", answer.version);
    visit("status", answer.status);
    visit("platform", answer.platform);
    visit("variant", answer.variant);
    visit("verdict", answer.verdict);
    visit("artifact", answer.artifact);
    visit("environment", answer.environment);
    visit("gpus", answer.gpus);
    visit("fallback", answer.fallback);
    visit("default", answer.project_default);
    visit("hint", answer.hint);
    visit("warnings", answer.warnings);
    visit("candidates", answer.candidates);
    visit("manifest_sha256", answer.manifest_sha256);
    visit("rules", answer.rules);
    visit("generation", answer.generation);
}

}  // namespace gpuprobe::inline policy
