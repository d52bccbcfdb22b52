// SPDX-License-Identifier: Apache-2.0
#include "policy/measured.h"

#include <algorithm>
#include <set>

#include "policy/backend_words.h"

namespace gpuprobe::inline policy {
namespace {

bool is_cpu(const Judged& judged) {
    return judged.candidate.backend == kCpu;
}

/// Of a GPU, and could be chosen.
bool competes(const Judged& judged) {
    return judged.gpu && is_accepted(judged) && judged.score;
}

bool is_as_fast(double score, double best) {
    return score >= best * (1 - kSameSpeed);
}

const Judged* fastest_gpu(const std::vector<Judged>& all) {
    double best = 0;
    for (const auto& judged : all)
        if (competes(judged))
            best = std::max(best, *judged.score);
    const auto found = std::ranges::find_if(all, [best](const Judged& judged) {
        return competes(judged) && is_as_fast(*judged.score, best);
    });
    return found == all.end() ? nullptr : &*found;
}

/// The CPU where it may be chosen and was measured.
const Judged* measured_cpu(const std::vector<Judged>& all) {
    const auto found = std::ranges::find_if(all, [](const Judged& judged) {
        return is_cpu(judged) && is_accepted(judged) && judged.score;
    });
    return found == all.end() ? nullptr : &*found;
}

const Judged* first_on_an_unmeasured_gpu(const std::vector<Judged>& all) {
    std::set<const Gpu*> measured;
    for (const auto& judged : all)
        if (judged.gpu && judged.score)
            measured.insert(judged.gpu);
    const auto found = std::ranges::find_if(all, [&](const Judged& judged) {
        return judged.gpu && is_accepted(judged) && !measured.contains(judged.gpu);
    });
    return found == all.end() ? nullptr : &*found;
}

/// Whether somebody may wonder why it was not chosen: it was accepted, or is no GPU.
bool is_slower(const Judged& judged, const Judged& cpu) {
    return !is_cpu(judged) && (is_accepted(judged) || !judged.gpu) && judged.score &&
           !is_as_fast(*judged.score, *cpu.score);
}

}  // namespace

const Judged* fastest_of(const std::vector<Judged>& all) {
    const auto* fastest = fastest_gpu(all);
    const auto* cpu = measured_cpu(all);
    if (!fastest || !cpu || !is_slower(*fastest, *cpu))
        return fastest;
    const auto* unmeasured = first_on_an_unmeasured_gpu(all);
    return unmeasured ? unmeasured : cpu;
}

void mark_measured(std::vector<Judged>& all) {
    const auto* cpu = measured_cpu(all);
    for (auto& judged : all) {
        if (is_accepted(judged) && !judged.score)
            judged.candidate.reasons.push_back(because("not-measured"));
        if (cpu && is_slower(judged, *cpu))
            judged.candidate.reasons.push_back(
                because("slower-than-cpu", {{"score", *judged.score}, {"cpu_score", *cpu->score}}));
    }
}

}  // namespace gpuprobe::inline policy
