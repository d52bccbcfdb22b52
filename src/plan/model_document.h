// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "base/value.h"
#include "plan/model.h"

/// A model without its file, as JSON. Clients send it to the daemon, because the daemon does not
/// open files of users (docs/plan.md, "A model as a document").
namespace gpuprobe::inline plan {

constexpr Bytes kMaxModelDocument = mib(1);

/// Reads a document. Errors: TooLarge over that size; Malformed, with the path, if it is not a
/// gpuprobe.model/1, or if it is over a limit of plan/gguf.h; otherwise as model_of().
Result<Model> model_from_document(std::string_view json);

/// Writes the document: exactly the parts of a header that model_of() reads.
Value model_document_of(const Gguf& gguf);

}  // namespace gpuprobe::inline plan
