// SPDX-License-Identifier: Apache-2.0
#include "backends/backend.h"

namespace gpuprobe::backends {

Answer without_devices(std::string note, Value::Object detail) {
    return Answer{.outcome = Outcome::Absent,
                  .note = std::move(note),
                  .reasons = {because("no-device", std::move(detail))}};
}

Refusal refused_call(std::string_view reason,
                     std::string_view call,
                     std::string_view words,
                     std::int64_t code) {
    return Refusal{.code = std::string{reason},
                   .note = std::string{call} + ": " + std::string{words},
                   .detail = Value{Value::Object{{"call", Value{call}}, {"code", Value{code}}}}};
}

Answer answer_of(const Refusal& refusal, Outcome outcome) {
    return Answer{.outcome = outcome,
                  .note = refusal.note,
                  .reasons = {Reason{.code = refusal.code, .detail = refusal.detail}}};
}

}  // namespace gpuprobe::backends
