// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "plan/plan.h"
#include "policy/request_table.h"

namespace gpuprobe::inline plan {

/// What plan asks, in the order of the help (docs/plan.md, "The request").
std::span<const RequestKey> plan_keys();

/// A request from its named values, without its model; `gpus` are selectors as they were given.
///
/// Errors: InvalidRequest, with the key at fault; keys that are about a model beside need-mib; a
/// quantized cache of values where flash attention is off, which llama.cpp refuses.
Result<PlanRequest> plan_request_from(const Value& object);

}  // namespace gpuprobe::inline plan
