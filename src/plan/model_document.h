// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/value.h"
#include "plan/model.h"

/// A model without its file: what a client of the daemon sends, as the daemon opens nobody's files
/// (docs/plan.md, "A model as a document").
namespace gpuprobe::inline plan {

constexpr Bytes kMaxModelDocument = mib(1);

/// Errors: TooLarge over that size; Malformed, with the path, for what is no gpuprobe.model/1, and
/// over a limit of plan/gguf.h; as model_of().
Result<Model> model_from_document(std::string_view json);

/// What model_of() reads of a header.
Value model_document_of(const Gguf& gguf);

}  // namespace gpuprobe::inline plan
