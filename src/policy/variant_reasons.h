// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "policy/evaluate.h"

namespace gpuprobe::inline policy {

/// The inputs for an explanation.
struct ExplanationContext {
    const RecommendRequest& request;
    const MachineFacts& machine;
    const Report& report;
    std::span<const FailedVariant> failed;
    const Refusals& refusals;
};

/// The reasons for every predicate that isn't true. If all alternatives fail, only the reasons of
/// the closest miss are returned. For a usable variant: the reasons on GPUs that it is meant for
/// but does not run on. Variants for other hosts get no reasons about GPUs.
///
/// Detail: `where` ("host", "manifest", "request" or a GPU id), `predicate`, `result`, `want`,
/// `have`, `missing` for lists of words, and `alternative`, counted from 0, if there are several.
std::vector<Reason> reasons_for(const JudgedVariant& judged, const ExplanationContext& context);

/// The same for the variant's recommended conditions, on the GPUs that it runs on.
std::vector<Reason> warnings_for(const JudgedVariant& judged, const ExplanationContext& context);

/// The reason why a term is false or unknown, with the same members.
Reason unmet(const Term& term, const Facts& facts, Truth result);

}  // namespace gpuprobe::inline policy
