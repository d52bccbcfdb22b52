// SPDX-License-Identifier: Apache-2.0
#include "backends/compute/attempt.h"

namespace gpuprobe {

Refusal refused_call(ReasonCode reason,
                     std::string_view call,
                     std::string_view words,
                     std::int64_t code) {
    Value detail;
    detail["call"] = Value{call};
    detail["code"] = Value{code};
    return Refusal{.code = reason,
                   .note = std::string{call} + ": " + std::string{words},
                   .detail = std::move(detail)};
}

}  // namespace gpuprobe
