// SPDX-License-Identifier: Apache-2.0
#include "cli/bench_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "report/api_table.h"
#include "report/compute_view.h"

namespace gpuprobe::inline cli {
namespace {

/// Whether the device was verified or measured. `Holder` is any part of the report with the members
/// verification, measurement and score.
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

/// Whether the backend has its own API. A backend that uses another one's API, as WebGPU uses
/// Vulkan, is not tested separately.
bool is_own_api(std::string_view backend) {
    return find_api_of_backend(backend) != nullptr;
}

// Cells of unknown values show a dash.
Cell rate_cell(const std::optional<std::uint64_t>& rate, const Screen& screen) {
    return {.text = rate ? rate_text(static_cast<double>(*rate)) : std::string{screen.dash()}};
}

Cell launch_cell(const Measurement& measured, const Screen& screen) {
    if (!measured.launch)
        return {.text = std::string{screen.dash()}};
    return {.text = fmt::format("{:.{}f} {}s", *measured.launch, *measured.launch < 10 ? 1 : 0,
                                screen.micro())};
}

Cell spread_cell(const Measurement& measured, const Screen& screen) {
    const auto spread = largest_spread(measured);
    return {.text = spread ? fmt::format("{:.0f} %", *spread * 100) : std::string{screen.dash()}};
}

Tone tone_of(const std::optional<Verification>& verification) {
    if (!verification)
        return Tone::Faint;
    switch (verification->result) {
        case VerificationResult::Verified:
            return Tone::Good;
        case VerificationResult::Skipped:
            return Tone::Unsure;
        default:
            return Tone::Bad;
    }
}

/// The device column: the GPU's id, "software" or "cpu".
std::string bench_place(const BenchRow& row) {
    return row.gpu ? *row.gpu : row.kind;
}

std::vector<Cell> cells_of(const BenchRow& row, const Screen& screen) {
    const auto measured = row.measurement.value_or(Measurement{});
    const auto cell = [&](const auto& rate) { return rate_cell(rate, screen); };
    return {
        {.text = bench_place(row)},
        {.text = row.name.value_or(std::string{screen.dash()})},
        {.text = row.backend, .tone = Tone::Strong},
        {.text = verification_words(row.verification, screen), .tone = tone_of(row.verification)},
        cell(measured.memory_read),
        cell(measured.memory_copy),
        cell(measured.host_to_device),
        cell(measured.device_to_host),
        cell(measured.fp32),
        cell(measured.fp16),
        cell(measured.int8),
        launch_cell(measured, screen),
        spread_cell(measured, screen),
        {.text = row.score ? rate_text(*row.score) : std::string{screen.dash()}}};
}

/// Adds a line such as "cuda on pci:0000:00:06.0 was not measured (failed): …".
void add_remark(const BenchRow& row,
                std::string_view sentence,
                std::string_view outcome,
                const std::optional<std::string>& note,
                const std::vector<Reason>& reasons,
                std::string& lines) {
    // Prefer the explained reasons; the probe's note is only for people.
    auto why = std::optional{explained(reasons).text};
    if (why->empty())
        why = note ? std::optional{scrubbed(*note)} : std::nullopt;
    lines += phrase(sentence, {{"backend", row.backend},
                               {"place", scrubbed(bench_place(row))},
                               {"outcome", std::string{outcome}},
                               {"why", why}}) +
             "\n";
}

void add_remarks(const BenchRow& row, std::string& lines) {
    const auto& checked = row.verification;
    if (checked && checked->result != VerificationResult::Verified)
        add_remark(row, "{backend} on {place} was not verified ({outcome})[: {why}]",
                   name_of(checked->result), checked->note, checked->reasons, lines);
    const auto& measured = row.measurement;
    if (measured && measured->outcome != Outcome::Answered)
        add_remark(row, "{backend} on {place} was not measured ({outcome})[: {why}]",
                   name_of(measured->outcome), measured->note, measured->reasons, lines);
    else if (measured && !measured->reasons.empty())
        add_remark(row, "{backend} on {place} was not measured again[: {why}]", "", measured->note,
                   measured->reasons, lines);
}

}  // namespace

std::vector<BenchRow> bench_rows(const Report& report, const std::vector<std::string>& gpus) {
    std::vector<BenchRow> rows;
    const auto is_named = [&gpus](std::string_view id) {
        return std::ranges::find(gpus, id) != gpus.end();
    };
    // Divided GPUs are listed by partition. The id of a whole GPU selects all of its partitions.
    const ComputeView units{report};
    for (const auto& gpu : units.report().gpus) {
        if (!gpus.empty() && !is_named(gpu.id) && !is_named(whole_id(gpu.id)))
            continue;
        for (const auto& [backend, view] : gpu.backends)
            if (is_own_api(backend))
                add({.kind = "gpu", .gpu = gpu.id, .name = gpu_title(gpu), .backend = backend},
                    view, rows);
    }
    // Software implementations and the CPU are shown only if no GPU was named.
    if (!gpus.empty())
        return rows;
    for (const auto& software : report.software)
        add({.kind = "software", .name = software.name, .backend = software.api}, software, rows);
    add({.kind = "cpu", .name = report.host.cpu.model, .backend = "cpu"}, report.host.cpu, rows);
    return rows;
}

std::string verification_words(const std::optional<Verification>& verification,
                               const Screen& screen) {
    return verification ? std::string{name_of(verification->result)} : std::string{screen.dash()};
}

std::optional<double> largest_spread(const Measurement& measurement) {
    const auto& spread = measurement.spread;
    const auto largest =
        std::ranges::max_element(spread, {}, [](const auto& entry) { return entry.second; });
    return largest == spread.end() ? std::nullopt : std::optional{largest->second};
}

std::string bench_text(const std::vector<BenchRow>& rows, const Screen& screen) {
    Table table{{{.title = "DEVICE"},
                 {.title = "NAME", .may_shrink = true, .may_go = true},
                 {.title = "BACKEND"},
                 {.title = "CHECK"},
                 {.title = "READ", .is_right_aligned = true},
                 {.title = "COPY", .is_right_aligned = true},
                 {.title = "UP", .is_right_aligned = true, .may_go = true},
                 {.title = "DOWN", .is_right_aligned = true, .may_go = true},
                 {.title = "FP32", .is_right_aligned = true},
                 {.title = "FP16", .is_right_aligned = true},
                 {.title = "INT8", .is_right_aligned = true, .may_go = true},
                 {.title = "LAUNCH", .is_right_aligned = true, .may_go = true},
                 {.title = "SPREAD", .is_right_aligned = true, .may_go = true},
                 {.title = "SCORE", .is_right_aligned = true}}};
    std::string remarks;
    for (const auto& row : rows) {
        table.add(cells_of(row, screen));
        add_remarks(row, remarks);
    }
    auto text = table.empty() ? std::string{} : table.text(screen);
    return remarks.empty() ? text : text + "\n" + remarks;
}

}  // namespace gpuprobe::inline cli
