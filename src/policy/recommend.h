// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policy/decision.h"
#include "policy/manifest.h"
#include "policy/rules.h"
#include "policy/select.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// The caller's request for a variant. A word is the name of a variant or family, "family:NAME", or
/// "backend:NAME" for all variants that compute with this backend.
struct RecommendRequest {
    /// Preferred words, best first.
    std::vector<std::string> prefer = {};
    /// permitted words; if absent, any word is permitted
    std::optional<std::vector<std::string>> only = {};
    /// Variants that an administrator permits, in addition to `only`; if absent, any variant.
    std::optional<std::vector<std::string>> allowed = {};
    std::vector<std::string> exclude = {};
    /// Like `allowed`, but permits all variants with certain backends: "backend:cuda".
    std::optional<std::vector<std::string>> allowed_backends = {};
    /// ids of permitted GPUs; if absent, all GPUs are permitted
    std::optional<std::vector<std::string>> gpus = {};
    std::vector<std::string> denied_gpus = {};  ///< ids of excluded GPUs
    /// Minimum memory on every GPU that a variant uses; in requests, a whole number of MiB.
    std::optional<Bytes> need = {};
    /// Whether a GPU may be used only if a test computation on this GPU gave a correct result.
    bool require_verified = false;
    std::vector<std::string> assume = {};  ///< facts to assume if they are unknown: "glibc=2.39"
    std::map<std::string, std::string> environment = {};  ///< the caller's environment variables
    bool include_rejected = true;  ///< whether the candidates include rejected variants
    bool explain = false;          ///< whether answers on the bus contain the candidates
    bool operator==(const RecommendRequest&) const = default;
};

/// Reads a request from its named values (docs/applications.md, "A request for a variant"); null
/// means an empty request. Errors: InvalidRequest, with the wrong key, for an unknown key, a wrong
/// type or an impossible value.
Result<RecommendRequest> recommend_request_from(const Value& object);

/// Merges the request with an administrator's permanent rule. The restrictions of the rule and of
/// the request both apply, and the caller's preferences come before the rule's preferences.
RecommendRequest under_rule(RecommendRequest request, const RecommendRequest& rule);

/// A variant or a family of variants that failed on this machine.
struct FailedVariant {
    std::string word = {};                ///< a word as in a request, or "variant:NAME"
    std::optional<std::string> gpu = {};  ///< id of the GPU; nullopt means every GPU
    Value detail = Value{Value::Object{}};
};

/// Converts reported failures to the form that recommend() accepts. A failed backend, given by
/// gpuprobe's name or the application's name, affects all variants that use the backend.
std::vector<FailedVariant> failed_variants(const Experience& experience, const Profile* profile);

/// The variant that the manifest names as the platform's default if no variant fits; null if the
/// manifest names no such variant. If the request requires verified results, the default is never a
/// variant that computes on a GPU.
const Variant* default_variant(const VariantPlatform& platform, const RecommendRequest& request);
/// The reason why an answer contains no variant: the manifest has no platform that fits this host.
/// The detail contains the manifest's platforms and the platform of this host
/// ("linux-aarch64-musl").
Reason other_platform(const Manifest& manifest, const Facts& host);

/// Chooses a variant and the variants to try next, and gives a verdict on every variant.
/// Deterministic: the order of the inputs does not matter. Meaning: docs/applications.md.
///
/// `failed` variants are rejected with "reported-failed", regardless of the manifest and the
/// request. `selection` belongs to the application of this manifest: a variant does not run on a
/// GPU on which the application refuses the variant's backend, and the order of the selection
/// determines the order of variants.
Recommendation recommend(const Manifest& manifest,
                         const RecommendRequest& request,
                         const Report& report,
                         const Rules& rules,
                         std::span<const FailedVariant> failed = {},
                         const SelectionView& selection = {});

/// The warning "stale-document" if a manifest or profile has an expiry date that has passed.
std::optional<Reason> staleness(const Manifest& manifest, WallTime now);
std::optional<Reason> staleness(const Profile& profile, WallTime now);

/// The warning "superseded-document" if the version of the application in a manifest or profile is
/// known not to be the newest version.
std::optional<Reason> supersession(const Manifest& manifest);
std::optional<Reason> supersession(const Profile& profile);

}  // namespace gpuprobe::inline policy
