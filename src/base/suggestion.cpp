// SPDX-License-Identifier: Apache-2.0
#include "base/suggestion.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe::inline base {
namespace {

/// Longer words are not compared: the effort grows with the product of both lengths.
constexpr std::size_t kMaxWord = 64;

/// Optimal string alignment distance: edit distance in which swapping two neighbors counts once.
std::size_t distance(std::string_view left, std::string_view right) {
    std::vector<std::vector<std::size_t>> cost(left.size() + 1,
                                               std::vector<std::size_t>(right.size() + 1));
    for (std::size_t row = 0; row <= left.size(); ++row) {
        for (std::size_t column = 0; column <= right.size(); ++column) {
            auto& best = cost[row][column];
            if (row == 0 || column == 0) {
                best = row + column;
                continue;
            }
            // Drop, insert, or change one letter.
            const bool same = left[row - 1] == right[column - 1];
            best = std::min({cost[row - 1][column] + 1, cost[row][column - 1] + 1,
                             cost[row - 1][column - 1] + (same ? 0U : 1U)});
            // Swap two neighboring letters.
            if (row > 1 && column > 1 && left[row - 1] == right[column - 2] &&
                left[row - 2] == right[column - 1])
                best = std::min(best, cost[row - 2][column - 2] + 1);
        }
    }
    return cost.back().back();
}

}  // namespace

std::optional<std::string> closest(std::string_view given, const std::vector<std::string>& known) {
    if (given.size() > kMaxWord)
        return std::nullopt;
    const auto wanted = lower_case(given);
    std::optional<std::string> nearest;
    // One mistake in three letters, and one in very short words.
    std::size_t least = std::max<std::size_t>(1, wanted.size() / 3) + 1;
    for (const auto& word : known) {
        if (word.size() > kMaxWord)
            continue;
        const auto steps = distance(wanted, lower_case(word));
        // A distance as long as the word would replace all of its letters.
        if (steps < least && steps < word.size()) {
            least = steps;
            nearest = word;
        }
    }
    return nearest;
}

std::string suggestion(std::string_view given, const std::vector<std::string>& known) {
    if (const auto near = closest(given, known))
        return "; did you mean '" + *near + "'?";
    std::string all;
    for (const auto& word : known)
        all += (all.empty() ? "; there are " : ", ") + word;
    return all;
}

}  // namespace gpuprobe::inline base
