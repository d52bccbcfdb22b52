// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/manifest.h"
#include "policy/recommendation.h"

namespace gpuprobe::inline policy {

/// The APIs that the variant computes with under this alternative: those in its predicates,
/// otherwise the API that its family is named after ("cuda", "rocm"). Empty if neither names one.
std::vector<Api> apis_used(const Variant& variant, const Conjunction& alternative);

/// `no-permission` for each inaccessible device node that the variant needs on the GPU under this
/// alternative; empty if one of its APIs works anyway.
std::vector<Reason> closed_nodes(const Variant& variant,
                                 const Conjunction& alternative,
                                 const Facts& gpu);

/// Whether the list isn't empty and every API in it has computed a checked result on the GPU.
bool is_verified(const std::vector<Api>& apis, const Facts& gpu);

/// `not-verified` {where, predicate, backend, result} for each unverified backend that the variant
/// uses on the GPU under this alternative. Unusable backends are skipped because they already have
/// reasons.
std::vector<Reason> unverified(const Variant& variant,
                               const Conjunction& alternative,
                               const Facts& gpu);

}  // namespace gpuprobe::inline policy
