// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace gpuprobe::support {

inline std::string_view text_of_input(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

/// The text before and after the first occurrence of `mark`. If the text does not contain the mark,
/// the first part is the whole text, and the second part is empty.
inline std::pair<std::string_view, std::string_view> halves_at(std::string_view text,
                                                               std::string_view mark) {
    const auto at = text.find(mark);
    if (at == std::string_view::npos)
        return {text, {}};
    return {text.substr(0, at), text.substr(at + mark.size())};
}

}  // namespace gpuprobe::support
