// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_rows.h"

#include <algorithm>

#include "explain/gpu_words.h"
#include "report/api_table.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {
namespace {

template <class Holder>
bool was_tried(const Holder& holder) {
    return holder.verification || holder.measurement;
}

template <class Holder>
void add(BenchRow row, const Holder& holder, std::vector<BenchRow>& rows) {
    if (!was_tried(holder))
        return;
    row.verification = holder.verification;
    row.measurement = holder.measurement;
    row.score = holder.score;
    rows.push_back(std::move(row));
}

/// What rests on the API of another backend, as WebGPU does on Vulkan, is not asked itself.
bool is_own_api(std::string_view backend) {
    return find_api_of_backend(backend) != nullptr;
}

}  // namespace

std::vector<BenchRow> bench_rows(const Report& report, const std::vector<std::string>& gpus) {
    std::vector<BenchRow> rows;
    const auto is_named = [&gpus](std::string_view id) {
        return std::ranges::find(gpus, id) != gpus.end();
    };
    const ComputeView units{report};
    for (const auto& gpu : units.report().gpus) {
        if (!gpus.empty() && !is_named(gpu.id) && !is_named(whole_id(gpu.id)))
            continue;
        for (const auto& [backend, view] : gpu.backends)
            if (is_own_api(backend))
                add({.kind = "gpu", .gpu = gpu.id, .name = gpu_title(gpu), .backend = backend},
                    view, rows);
    }
    if (!gpus.empty())
        return rows;
    for (const auto& software : report.software)
        add({.kind = "software", .name = software.name, .backend = software.api}, software, rows);
    add({.kind = "cpu", .name = report.host.cpu.model, .backend = "cpu"}, report.host.cpu, rows);
    return rows;
}

}  // namespace gpuprobe::inline cli
