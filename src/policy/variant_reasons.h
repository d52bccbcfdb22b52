// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "policy/evaluate.h"

namespace gpuprobe {

/// The code for a predicate that is false. docs/reasons.md
ReasonCode shortfall_code(PredicateKind kind);

/// What a predicate asks for, as answers show it: a text, a number of bytes or a list.
Value want_of(const Predicate& predicate, const Rules& rules);
/// What the machine has in its place; null when that is not known or not there.
Value have_of(const Predicate& predicate, const HostFacts& host);
Value have_of(const Predicate& predicate, const GpuFacts& gpu);

/// Of a predicate over several words, those that are not there; null for any other.
Value missing_of(const Predicate& predicate, const HostFacts& host, const Rules& rules);
Value missing_of(const Predicate& predicate, const GpuFacts& gpu);

/// What an explanation refers to.
struct ExplanationContext {
    const RecommendRequest& request;
    const MachineFacts& machine;
    const Report& report;
    const Rules& rules;
    std::span<const FailedVariant> failed;
};

/// Every predicate that is not true, with all alternatives where none holds. For a variant that may
/// be taken: on the GPUs that it is for and does not run on.
///
/// Detail: `where` ("host", "manifest", "request" or a GPU's id), `predicate`, `result`, `want`,
/// `have`, `missing` for lists of words, and `alternative`, counted from 0, where there are
/// several.
std::vector<Reason> reasons_for(const JudgedVariant& judged, const ExplanationContext& context);

/// The same for what it advises, on the GPUs that it runs on.
std::vector<Reason> warnings_for(const JudgedVariant& judged, const ExplanationContext& context);

}  // namespace gpuprobe
