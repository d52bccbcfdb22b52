// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "plan/backend_traits.h"
#include "plan/model.h"
#include "plan/need.h"

namespace gpuprobe::inline plan {

/// Checks whether the types are compatible with the flash-attention setting, for any model. Errors:
/// InvalidRequest.
Status check_cache_types(const RunShape& run, FlashAttention wish);

/// Checks whether llama.cpp accepts these cache types for the model. Errors: InvalidRequest; the
/// text suggests types that it accepts. Source: llama_init_from_model in src/llama-context.cpp of
/// llama.cpp v0.5.0.
Status check_cache_types(const Model& model, const RunShape& run, FlashAttention wish);

}  // namespace gpuprobe::inline plan
