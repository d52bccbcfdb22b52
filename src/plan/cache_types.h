// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/result.h"
#include "plan/backend_traits.h"
#include "plan/model.h"
#include "plan/need.h"

namespace gpuprobe::inline plan {

/// Whether the types go with the wish, whatever the model. Errors: InvalidRequest.
Status check_cache_types(const RunShape& run, FlashAttention wish);

/// Whether llama.cpp makes a context of the model with these types of the cache. Errors:
/// InvalidRequest, with types that it takes.
/// Source: llama_init_from_model in src/llama-context.cpp of llama.cpp v0.5.0.
Status check_cache_types(const Model& model, const RunShape& run, FlashAttention wish);

}  // namespace gpuprobe::inline plan
