// SPDX-License-Identifier: Apache-2.0
#include "cli/bench.h"

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

/// Adds the row if the device was verified or measured. `Holder` is any record of the report that
/// has the members verification, measurement and score.
template <class Holder>
void add(BenchRow row, const Holder& holder, std::vector<BenchRow>& rows) {
    if (!holder.verification && !holder.measurement)
        return;
    row.verification = holder.verification;
    row.measurement = holder.measurement;
    row.score = holder.score;
    rows.push_back(std::move(row));
}

/// Whether the backend has its own API. A backend that uses the API of another backend, as WebGPU
/// uses Vulkan, isn't tested separately.
bool is_own_api(std::string_view backend) {
    return find_api_of_backend(backend) != nullptr;
}

// The units of rates: bytes, floating-point operations and integer operations, each per second.
constexpr std::string_view kBytes = "B/s";
constexpr std::string_view kFloats = "FLOPS";
constexpr std::string_view kIntegers = "OPS";

// A dash means that the value is unknown.
Cell rate_cell(const std::optional<std::uint64_t>& rate,
               std::string_view unit,
               const Screen& screen) {
    return {.text =
                rate ? rate_text(static_cast<double>(*rate), unit) : std::string{screen.dash()}};
}

Cell launch_cell(const Measurement& measured, const Screen& screen) {
    if (!measured.launch)
        return {.text = std::string{screen.dash()}};
    return {.text = fmt::format("{:.{}f} {}s", *measured.launch, *measured.launch < 10 ? 1 : 0,
                                screen.micro())};
}

/// The largest spread of all figures of a measurement; nullopt if no spread is known.
std::optional<double> largest_spread(const Measurement& measurement) {
    const auto& spread = measurement.spread;
    const auto largest =
        std::ranges::max_element(spread, {}, [](const auto& entry) { return entry.second; });
    return largest == spread.end() ? std::nullopt : std::optional{largest->second};
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

/// The result: "verified", "miscomputed", "crashed" …; a dash if the device wasn't verified.
Cell verification_cell(const std::optional<Verification>& verification, const Screen& screen) {
    const auto word = verification ? name_of(verification->result) : screen.dash();
    return {.text = std::string{word}, .tone = tone_of(verification)};
}

/// The device column: the GPU's id, "software" or "cpu".
std::string bench_place(const BenchRow& row) {
    return row.gpu ? *row.gpu : row.kind;
}

std::vector<Cell> cells_of(const BenchRow& row, const Screen& screen) {
    const auto measured = row.measurement.value_or(Measurement{});
    const auto cell = [&](const auto& rate, std::string_view unit) {
        return rate_cell(rate, unit, screen);
    };
    return {{.text = bench_place(row)},
            {.text = row.name.value_or(std::string{screen.dash()})},
            {.text = row.backend, .tone = Tone::Strong},
            verification_cell(row.verification, screen),
            cell(measured.memory_read, kBytes),
            cell(measured.memory_copy, kBytes),
            cell(measured.host_to_device, kBytes),
            cell(measured.device_to_host, kBytes),
            cell(measured.fp32, kFloats),
            cell(measured.fp16, kFloats),
            cell(measured.int8, kIntegers),
            launch_cell(measured, screen),
            spread_cell(measured, screen),
            {.text = row.score ? rate_text(*row.score) : std::string{screen.dash()}}};
}

/// Adds a line such as "cuda on pci:0000:00:06.0 wasn't measured (failed): …".
void add_remark(const BenchRow& row,
                std::string_view sentence,
                std::string_view outcome,
                const std::optional<std::string>& note,
                const std::vector<Reason>& reasons,
                std::string& lines) {
    // Use the note of the probe only if the reasons have no message.
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
    // Divided GPUs are listed by partition. The id of a whole GPU selects all of its partitions.
    const ComputeView units{report};
    for (const auto& gpu : units.report().gpus) {
        if (!gpus.empty() && !contains(gpus, gpu.id) && !contains(gpus, whole_id(gpu.id)))
            continue;
        for (const auto& [backend, view] : gpu.backends)
            if (is_own_api(backend))
                add({.kind = "gpu", .gpu = gpu.id, .name = gpu_title(gpu), .backend = backend},
                    view, rows);
    }
    // Software implementations and the CPU are shown only if the user named no GPU.
    if (!gpus.empty())
        return rows;
    for (const auto& software : report.software)
        add({.kind = "software", .name = software.name, .backend = software.api}, software, rows);
    add({.kind = "cpu", .name = report.host.cpu.model, .backend = "cpu"}, report.host.cpu, rows);
    return rows;
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
                 {.title = "FP16", .is_right_aligned = true, .may_go = true},
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

namespace {

constexpr std::size_t kMeasuredIndent = 2;

/// Appends a part with a separator, unless the part is empty.
void add_part(std::string& text, const std::string& part, std::string_view between = ", ") {
    if (!part.empty())
        text += (text.empty() ? "" : std::string{between}) + part;
}

/// Formats a rate, such as "reads 4.19 TB/s (85 % of the theoretical 4.92 TB/s)"; "" if the rate is
/// unknown. `what` is a message with placeholders.
std::string rate_words(std::string_view what,
                       const std::optional<std::uint64_t>& rate,
                       std::string_view unit,
                       const std::optional<std::uint64_t>& peak = {}) {
    if (!rate)
        return "";
    const auto share = share_text(rate, peak);
    const bool is_promised = !share.empty();
    return phrase(what,
                  {{"rate", rate_text(static_cast<double>(*rate), unit)},
                   {"share", is_promised ? std::optional{share} : std::nullopt},
                   {"peak", is_promised ? std::optional{rate_text(static_cast<double>(*peak), unit)}
                                        : std::nullopt}});
}

std::string figures(const Measurement& measured, const PeakRates& peak) {
    std::string text;
    add_part(text, rate_words("reads {rate}[ ({share} of the theoretical {peak})]",
                              measured.memory_read, kBytes, peak.memory));
    add_part(text, rate_words("copies {rate}[ ({share} of the theoretical {peak})]",
                              measured.memory_copy, kBytes, peak.memory));
    add_part(text, rate_words("fp32 {rate}[ ({share} of the theoretical {peak})]", measured.fp32,
                              kFloats, peak.fp32));
    add_part(text, rate_words("fp16 {rate}", measured.fp16, kFloats));
    add_part(text, rate_words("int8 {rate}", measured.int8, kIntegers));
    return text;
}

/// The measured rates, or the reason why no rate was measured.
std::string measurement_words(const Measurement& measured, const PeakRates& peak) {
    if (measured.outcome == Outcome::Answered)
        return figures(measured, peak);
    const auto why = explained(measured.reasons).text;
    return phrase(why.empty() ? "not measured ({outcome})" : "not measured ({outcome}: {why})",
                  {{"outcome", std::string{name_of(measured.outcome)}}, {"why", why}});
}

/// The peak rates of the GPU in the row; unknown for other devices.
PeakRates peak_rates_for(const Report& report, const BenchRow& row) {
    const auto gpu = std::ranges::find_if(
        report.gpus, [&](const Gpu& one) { return row.gpu && one.id == *row.gpu; });
    return gpu == report.gpus.end() ? PeakRates{} : peak_rates_of(*gpu);
}

std::string place_words(const BenchRow& row) {
    if (row.gpu)
        return scrubbed(*row.gpu);
    return row.kind == "software" ? scrubbed(row.name.value_or("software")) : "the CPU";
}

/// Whether the row has no failed verification and no failed measurement.
bool went_well(const BenchRow& row) {
    const bool is_right =
        !row.verification || row.verification->result == VerificationResult::Verified;
    return is_right && (!row.measurement || row.measurement->outcome == Outcome::Answered);
}

/// An entry of the section "Computed": one device, and the number of other devices with the same
/// result.
struct MeasuredEntry {
    std::string backend = {};
    std::string place = {};
    std::string words = {};
    std::size_t others = 0;
};

MeasuredEntry measured_entry(const BenchRow& row, const PeakRates& peak) {
    return {.backend = scrubbed(row.backend),
            .place = place_words(row),
            .words = measured_words(row.verification, row.measurement, row.score, peak)};
}

/// Adds an entry, or counts the row in an existing entry with the same result.
void add_entry(std::vector<MeasuredEntry>& entries, const BenchRow& row, const PeakRates& peak) {
    auto entry = measured_entry(row, peak);
    const auto same = std::ranges::find_if(entries, [&entry](const MeasuredEntry& one) {
        return one.backend == entry.backend && one.words == entry.words;
    });
    if (same == entries.end())
        entries.push_back(std::move(entry));
    else
        ++same->others;
}

}  // namespace

std::string measured_words(const std::optional<Verification>& verification,
                           const std::optional<Measurement>& measurement,
                           const std::optional<double>& score,
                           const PeakRates& peak) {
    std::string text;
    if (verification)
        text = verification->result == VerificationResult::Verified
                   ? "verified"
                   : phrase("not verified ({result})",
                            {{"result", std::string{name_of(verification->result)}}});
    if (!measurement)
        return text;
    add_part(text, measurement_words(*measurement, peak), "; ");
    if (measurement->outcome == Outcome::Answered && !peak.memory && !peak.fp32)
        add_part(text, "peak unknown", "; ");
    if (score)
        add_part(text, phrase("score {score}", {{"score", rate_text(*score)}}), "; ");
    return text;
}

std::string measured_section(const Report& report, const Screen& screen) {
    std::vector<MeasuredEntry> entries;
    const BenchRow* best = nullptr;
    std::size_t as_well = 0;
    const auto rows = bench_rows(report, {});
    // Collect the failures, and find the successful row with the highest score.
    for (const auto& row : rows) {
        if (!went_well(row))
            add_entry(entries, row, peak_rates_for(report, row));
        else if (as_well++; !best || row.score.value_or(0) > best->score.value_or(0))
            best = &row;
    }
    if (best)
        entries.insert(entries.begin(), measured_entry(*best, peak_rates_for(report, *best)));
    std::size_t width = 0;
    for (const auto& one : entries)
        width = std::max(width, display_width(one.backend));
    std::string lines;
    for (const auto& one : entries) {
        const auto sentence =
            one.others > 0 ? "{place} and {more} more: {words}" : "{place}: {words}";
        lines += hanging(screen, "  " + padded_right(one.backend, width) + "  ",
                         kMeasuredIndent + width + 2,
                         phrase(sentence, {{"place", one.place},
                                           {"more", std::to_string(one.others)},
                                           {"words", one.words}}));
    }
    if (as_well > 1)
        lines += hanging_parts(
            screen, "  ",
            {phrase("{more} more computed correctly", {{"more", std::to_string(as_well - 1)}}),
             "gpuprobectl bench shows all"});
    return lines.empty() ? "" : "\n" + toned(screen, Tone::Strong, "Computed") + "\n" + lines;
}

}  // namespace gpuprobe::inline cli
