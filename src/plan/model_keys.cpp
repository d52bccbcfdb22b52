// SPDX-License-Identifier: Apache-2.0
#include "plan/model_keys.h"

#include <algorithm>

namespace gpuprobe::inline plan {

bool Keys::has(std::string_view key) const {
    return gguf_.keys.contains(name_of(key)) || gguf_.values.contains(name_of(key));
}

std::optional<std::uint64_t> Keys::number(std::string_view key) const {
    // A value that exists but is not a number is a fault of the file, not a missing value.
    const auto number = gguf_.number(name_of(key));
    if (!number && has(key))
        complain(key, "is no whole number from 0");
    return number;
}

std::uint64_t Keys::width(std::string_view key, std::uint64_t otherwise) const {
    return std::min(number(key).value_or(otherwise), kMaxWidth);
}

std::uint64_t Keys::of_layer(std::string_view key,
                             std::size_t layer,
                             std::uint64_t otherwise) const {
    const auto* numbers = list(key);
    if (!numbers)
        return width(key, otherwise);
    // A list that is too short or has a negative item is a fault of the file.
    if (layer < numbers->size() && (*numbers)[layer] >= 0)
        return std::min(static_cast<std::uint64_t>((*numbers)[layer]), kMaxWidth);
    complain(key, "has no whole number from 0 for layer " + std::to_string(layer));
    return 0;
}

Status Keys::check() const {
    if (problem_.empty())
        return Done{};
    return Error{ErrorCode::Malformed, problem_};
}

void Keys::complain(std::string_view key, std::string_view problem) const {
    if (problem_.empty())
        problem_ = name_of(key) + " " + std::string{problem};
}

}  // namespace gpuprobe::inline plan
