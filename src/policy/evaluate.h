// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "policy/recommend.h"

namespace gpuprobe::inline policy {

struct MachineFacts;

/// A reason that excludes a variant on any machine, because of the request or because of a reported
/// failure.
enum class Exclusion { None, Excluded, NotRequested, ReportedFailed };

/// A variant's verdict, and the keys by which variants are sorted.
struct JudgedVariant {
    const Variant* variant = nullptr;  // borrowed from the manifest
    Verdict verdict = Verdict::Rejected;
    Exclusion exclusion = Exclusion::None;
    std::uint64_t covered = 0;   ///< bit n is set if the variant runs on GPU n of the facts
    std::uint64_t possible = 0;  ///< set of GPUs on which the variant runs or may run
    /// The ids of the accelerators for which the selection chooses the family of the variant, best
    /// first. Variants have no requirements for accelerators, so only the family matters.
    std::vector<std::string> accelerators = {};
    std::size_t preference = 0;  ///< index of the first matching word in `prefer`
    /// The position of the first backend and GPU that the variant uses in the order that the
    /// selection determines.
    std::size_t place = 0;
    std::uint64_t gib = 0;  ///< total memory of the covered discrete GPUs, each rounded to GiB
    int discrete = 0;       ///< number of covered discrete GPUs
    int gpus = 0;           ///< number of covered GPUs
    int tier = 0;           ///< the variant's tier
    int priority = 0;       ///< the variant's priority
};

/// The GPUs on which the variant is used, as bits like those in `covered`. These are the GPUs on
/// which the variant runs; if there are none, the GPUs on which it may run.
inline std::uint64_t gpus_used(const JudgedVariant& judged) {
    return judged.verdict == Verdict::Uncertain && judged.covered == 0 ? judged.possible
                                                                       : judged.covered;
}

/// Whether a word in a request refers to the variant.
bool means(std::string_view word, const Variant& variant);

/// The term that a request adds to each variant that uses a GPU; nullopt if `need` has no value.
std::optional<Term> added_term(const RecommendRequest& request);

/// Judges every variant. Usable variants come first, in order of preference, and are followed by
/// rejected variants, sorted by name.
///
/// The sort keys are: preference; place in the selection's order; tier, highest first; accepted
/// before uncertain; memory of the covered discrete GPUs, then their number, then the number of all
/// covered GPUs, most first; priority, highest first; name by bytes, which makes the order total.
std::vector<JudgedVariant> evaluate(const VariantPlatform& platform,
                                    const RecommendRequest& request,
                                    const MachineFacts& machine,
                                    std::span<const FailedVariant> failed,
                                    const SelectionView& selection);

/// The vendors whose GPUs the variant supports; empty if the variant supports any vendor.
std::vector<std::string> vendors_of(const Requirements& requirements);

/// The inputs from which reasons and warnings about a variant are derived.
struct ExplanationContext {
    const RecommendRequest& request;
    const MachineFacts& machine;
    const Report& report;
    std::span<const FailedVariant> failed;
    const SelectionView& selection;
};

/// The reasons for all predicates that aren't true. If all alternatives fail, only the reasons
/// against the closest miss are returned. For a usable variant, the reasons are about the GPUs for
/// which the variant is meant, but on which it does not run. There are no reasons about GPUs for
/// variants that are for other hosts.
///
/// The detail contains `where` ("host", "manifest", "request" or a GPU id), `predicate`, `result`,
/// `want`, `have`, `missing` for lists of words, and `alternative`, counted from 0, if there are
/// several.
std::vector<Reason> reasons_for(const JudgedVariant& judged, const ExplanationContext& context);

/// Merges the reasons for an answer. If the reasons of several GPUs differ only in the
/// id of the GPU, the result contains each reason once; `where` is the first of the ids, and `also`
/// lists the others. A GPU from another vendor has only one reason, `vendor-mismatch`.
std::vector<Reason> merged_for_alike_gpus(std::vector<Reason> reasons);

/// Returns only the reasons about the GPU and the reasons about the host. The given reasons may
/// already be merged.
std::vector<Reason> reasons_on(const Gpu& gpu, const std::vector<Reason>& reasons);

/// A reason for each of the variant's recommended conditions that does not hold on the host, or on
/// the GPUs on which the variant runs.
std::vector<Reason> warnings_for(const JudgedVariant& judged, const ExplanationContext& context);

/// The reason why a term is false or unknown, with the same members of `detail` as in
/// reasons_for().
Reason unmet(const Term& term, const Facts& facts, Truth result);

}  // namespace gpuprobe::inline policy
