// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/value.h"

namespace gpuprobe::backends {

/// Why a device did not do what it was told: an answer about the device, never an Error of ours.
struct Refusal {
    std::string code = {};  ///< one of docs/reasons.md, "On verification and measurement"
    std::string note = {};  ///< "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"
    Value detail = Value{Value::Object{}};
};

/// Of a call that returned `code`, which the API calls `words`: "CALL: WORDS", and both as detail.
Refusal refused_call(std::string_view reason,
                     std::string_view call,
                     std::string_view words,
                     std::int64_t code);

/// A value, or why there is none.
template <class T>
using Attempt = Result<T, Refusal>;

}  // namespace gpuprobe::backends
