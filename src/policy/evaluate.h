// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "policy/recommend.h"

namespace gpuprobe::inline policy {

/// What a request or experience says against a variant, whatever the machine is.
enum class Exclusion { None, Excluded, NotRequested, ReportedFailed };

/// One variant's verdict and the keys by which it is ordered.
struct JudgedVariant {
    const Variant* variant = nullptr;  // borrowed from the manifest
    Verdict verdict = Verdict::Rejected;
    Exclusion exclusion = Exclusion::None;
    std::uint64_t covered = 0;   ///< bit n: it runs on the nth GPU of the facts
    std::uint64_t possible = 0;  ///< and those on which it is not known not to run
    std::size_t preference = 0;  ///< place of the first word of `prefer` that means it
    std::size_t place = 0;       ///< the first in the selection's order that it computes on
    std::uint64_t gib = 0;       ///< of the covered discrete GPUs, each rounded to whole GiB
    int discrete = 0;            ///< covered discrete GPUs
    int gpus = 0;                ///< covered GPUs
    int tier = 0;                ///< the variant's
    int priority = 0;            ///< likewise
};
static_assert(kMaxVariantGpus <= 64, "JudgedVariant::covered has a bit for each");

/// Whether the word of a request means the variant.
bool means(std::string_view word, const Variant& variant);

/// The term that a request adds to every variant that uses a GPU; none without `need`.
std::optional<Term> added_term(const RecommendRequest& request);

/// Every variant: those that may be taken in their order, then the rejected ones by name.
///
/// The order, first difference decides: preference; place in the selection's order; tier, high
/// first; accepted before uncertain; memory of the covered discrete GPUs, then their number, then
/// that of all covered GPUs, more first; priority, high first; name by bytes. The name makes it
/// total.
std::vector<JudgedVariant> evaluate(const VariantPlatform& platform,
                                    const RecommendRequest& request,
                                    const MachineFacts& machine,
                                    std::span<const FailedVariant> failed,
                                    const SelectionView& selection);

/// The vendors whose GPUs a variant is for; empty where any may be meant.
std::vector<std::string> vendors_of(const Requirements& requirements);

}  // namespace gpuprobe::inline policy
