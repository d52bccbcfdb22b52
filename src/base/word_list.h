// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string_view>

namespace gpuprobe::inline base {

/// Whether a list of words separated by spaces contains `word`. Use this function for tables of
/// constants.
constexpr bool has_word(std::string_view list, std::string_view word) {
    for (std::size_t at = 0; at < list.size();) {
        const auto end = std::min(list.find(' ', at), list.size());
        if (list.substr(at, end - at) == word)
            return true;
        at = end + 1;
    }
    return false;
}

}  // namespace gpuprobe::inline base
