// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "plan/architecture.h"
#include "plan/model_keys.h"

namespace gpuprobe::inline plan {

/// What a recurrent layer keeps per stream, whatever the context; nothing where none recurs.
/// Source: n_embd_r and n_embd_s in src/llama-hparams.cpp of llama.cpp v0.5.0.
Bytes recurrent_state(const Keys& keys, const Architecture& architecture);

/// Whether the layer, with so many heads of keys, keeps that state in place of a cache. Source:
/// src/models of llama.cpp v0.5.0.
bool is_recurrent(const Keys& keys,
                  const Architecture& architecture,
                  std::size_t layer,
                  std::uint64_t heads);

}  // namespace gpuprobe::inline plan
