// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy/manifest.h"
#include "policy/recommendation.h"

namespace gpuprobe::inline policy {

/// The APIs through which a variant computes where this alternative of its holds: those that its
/// predicates name, else the one that its family is called after ("cuda", "rocm"). None: nothing
/// tells.
std::vector<Api> apis_used(const Variant& variant, const Conjunction& alternative);

/// `no-permission` for each closed node without which the variant can't compute on the GPU where
/// this alternative of its holds; none where it works all the same.
std::vector<Reason> closed_nodes(const Variant& variant,
                                 const Conjunction& alternative,
                                 const Facts& gpu);

/// Whether each of these APIs, and at least one, has computed a checked result on the GPU.
bool is_verified(const std::vector<Api>& apis, const Facts& gpu);

/// `not-verified` {where, predicate, backend, result} for each backend that the variant uses on the
/// GPU where this alternative of its holds, and that was not verified; what can't be used anyway
/// has its reasons.
std::vector<Reason> unverified(const Variant& variant,
                               const Conjunction& alternative,
                               const Facts& gpu);

}  // namespace gpuprobe::inline policy
