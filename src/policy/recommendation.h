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
RECORD_MEMBERS(VariantCandidate, variant, family, tier, priority, verdict, gpus, reasons, warnings,
               note)

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
RECORD_MEMBERS(Recommendation, product, version, status, platform, variant, verdict, artifact,
               environment, gpus, fallback, ("default", project_default), hint, warnings,
               candidates, manifest_sha256, rules, generation)

}  // namespace gpuprobe::inline policy
