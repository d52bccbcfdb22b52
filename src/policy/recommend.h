// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/manifest.h"
#include "policy/recommendation.h"
#include "policy/rules.h"
#include "policy/select.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// What only the caller knows. A word is the name of a variant, of a family, or "family:NAME", or
/// "backend:NAME" for all that compute with it.
struct RecommendRequest {
    std::vector<std::string> prefer = {};               ///< before all others, in this order
    std::optional<std::vector<std::string>> only = {};  ///< absent: any
    /// What an administrator allows; absent: any. Narrows like `only`, beside it.
    std::optional<std::vector<std::string>> allowed = {};
    std::vector<std::string> exclude = {};
    /// As `allowed`, by what a variant computes with: "backend:cuda".
    std::optional<std::vector<std::string>> allowed_backends = {};
    std::optional<std::vector<std::string>> gpus = {};  ///< ids; absent: any
    std::vector<std::string> denied_gpus = {};          ///< ids
    std::optional<Bytes> need = {};  ///< on every GPU that a variant is to use; whole MiB outside
    bool require_verified = false;   ///< of a GPU what computed a checked result, or nothing
    std::map<std::string, std::string> environment = {};  ///< the caller's own
    bool include_rejected = true;                         ///< among the candidates
    bool explain = false;                                 ///< the bus is to carry the candidates
    bool operator==(const RecommendRequest&) const = default;
};

/// A request from its named values (docs/variants.md, "The request"); null is an empty one.
/// Errors: InvalidRequest, with the key at fault, for an unknown key, a wrong type or an impossible
/// value.
Result<RecommendRequest> recommend_request_from(const Value& object);

/// The request with an administrator's standing one below it: what narrows holds both ways, and
/// what the caller prefers comes before what the rule prefers.
RecommendRequest under_rule(RecommendRequest request, const RecommendRequest& rule);

/// A variant, or a family of them, that was tried here and failed.
struct FailedVariant {
    std::string word = {};                ///< as in a request, or "variant:NAME"
    std::optional<std::string> gpu = {};  ///< id; absent: on every GPU
    Value detail = Value{Value::Object{}};
};

/// The variant to take, what to try next, and every variant with its verdict. Pure: the same inputs
/// give the same answer whatever their order. Meaning: docs/variants.md.
///
/// `failed` rejects with "reported-failed", whatever the manifest and the request say. `selection`
/// is of the consumer whose builds these are: no variant is for a GPU on which it refuses what the
/// variant computes with, and what it takes first comes first.
Recommendation recommend(const Manifest& manifest,
                         const RecommendRequest& request,
                         const Report& report,
                         const Rules& rules,
                         std::span<const FailedVariant> failed = {},
                         const SelectionView& selection = {});

/// "stale-document", when the date of expiry of a manifest, or of a profile that has one, has
/// passed.
std::optional<Reason> staleness(const Manifest& manifest, WallTime now);
std::optional<Reason> staleness(const Profile& profile, WallTime now);

}  // namespace gpuprobe::inline policy
