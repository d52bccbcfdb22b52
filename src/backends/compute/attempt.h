// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/value.h"
#include "report/reason_table.h"

namespace gpuprobe {

/// Why a device did not do what it was told: an answer about the device, never an Error of ours.
struct Refusal {
    ReasonCode code = "api-refused";
    std::string note = {};  ///< "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY"
    Value detail = Value{Value::Object{}};
};

/// Of a call that returned `code`, which the API calls `words`: "CALL: WORDS", and both as detail.
Refusal refused_call(ReasonCode reason,
                     std::string_view call,
                     std::string_view words,
                     std::int64_t code);

/// A value, or why there is none. TRY takes it apart.
template <class T>
class [[nodiscard]] Attempt {
public:
    Attempt(T value) : state_{std::in_place_index<0>, std::move(value)} {}
    Attempt(Refusal refusal) : state_{std::in_place_index<1>, std::move(refusal)} {}

    explicit operator bool() const { return state_.index() == 0; }
    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    const Refusal& error() const& { return std::get<1>(state_); }
    Refusal&& error() && { return std::get<1>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

private:
    std::variant<T, Refusal> state_;
};

/// Done without a value.
struct Performed {};

}  // namespace gpuprobe
