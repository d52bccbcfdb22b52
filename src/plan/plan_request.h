// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plan/plan.h"
#include "policy/request_table.h"

namespace gpuprobe::inline plan {

/// The keys of a plan request, in the order of the help text (docs/plan.md, "The request").
std::span<const RequestKey> plan_keys();

/// Reads a request, except for its model, from named values. `gpus` contains the selectors as they
/// were given.
///
/// Errors: InvalidRequest, with the key at fault. The function also refuses keys about a model
/// together with need-mib, and quantized values in the cache with flash attention off, because
/// llama.cpp refuses this combination.
Result<PlanRequest> plan_request_from(const Value& object);

}  // namespace gpuprobe::inline plan
