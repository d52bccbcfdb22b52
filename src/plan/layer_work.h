// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "plan/gguf.h"
#include "plan/model.h"
#include "plan/model_keys.h"

namespace gpuprobe::inline plan {

/// The number behind "blk." in a tensor's name.
std::optional<std::size_t> layer_of(std::string_view tensor);

/// Fills in what each layer computes: from its tensors, and from the keys where the file lists
/// none. Sources: src/llama-arch.cpp and src/models of llama.cpp v0.5.0.
void describe_work(const Gguf& gguf, const Keys& keys, Model& model);

}  // namespace gpuprobe::inline plan
