// SPDX-License-Identifier: Apache-2.0
#include "decide/measured.h"

#include <algorithm>

namespace gpuprobe {
namespace {

std::optional<double> score_of(const Judged& judged) {
    if (!judged.gpu || judged.candidate.verdict != Verdict::Accepted)
        return std::nullopt;
    const auto view = judged.gpu->backends.find(judged.candidate.backend);
    return view == judged.gpu->backends.end() ? std::nullopt : view->second.score;
}

}  // namespace

const Judged* fastest_of(const std::vector<Judged>& all) {
    double best = 0;
    for (const auto& judged : all)
        best = std::max(best, score_of(judged).value_or(0));
    const auto is_as_fast = [best](const Judged& judged) {
        const auto score = score_of(judged);
        return score && *score >= best * (1 - kSameSpeed);
    };
    const auto found = std::ranges::find_if(all, is_as_fast);
    return found == all.end() ? nullptr : &*found;
}

void mark_not_measured(std::vector<Judged>& all) {
    for (auto& judged : all)
        if (judged.candidate.verdict == Verdict::Accepted && !score_of(judged))
            judged.candidate.reasons.push_back(because("not-measured"));
}

}  // namespace gpuprobe
