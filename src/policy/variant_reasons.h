// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "policy/evaluate.h"

namespace gpuprobe::inline policy {

/// What an explanation refers to.
struct ExplanationContext {
    const RecommendRequest& request;
    const MachineFacts& machine;
    const Report& report;
    std::span<const FailedVariant> failed;
    const Refusals& refusals;
};

/// Every predicate that is not true; of alternatives, where none holds, those of the nearest. For a
/// variant that may be taken: on the GPUs that it is for and does not run on. Nothing of GPUs for
/// one that is built for other hosts.
///
/// Detail: `where` ("host", "manifest", "request" or a GPU's id), `predicate`, `result`, `want`,
/// `have`, `missing` for lists of words, and `alternative`, counted from 0, where there are
/// several.
std::vector<Reason> reasons_for(const JudgedVariant& judged, const ExplanationContext& context);

/// The same for what it advises, on the GPUs that it runs on.
std::vector<Reason> warnings_for(const JudgedVariant& judged, const ExplanationContext& context);

/// Why a term does not hold, in the same members, or why nobody knows whether it does.
Reason unmet(const Term& term, const Facts& facts, Truth result);

}  // namespace gpuprobe::inline policy
