// SPDX-License-Identifier: Apache-2.0
#include "cli/measured_words.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/bench_text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::size_t kMeasuredIndent = 2;

/// Appends a part with a separator, unless it is empty.
void add_part(std::string& text, const std::string& part, std::string_view between = ", ") {
    if (!part.empty())
        text += (text.empty() ? "" : std::string{between}) + part;
}

/// "reads 4.19 TB/s (85 % of 4.92 T)"; "" without a rate. `what` is the sentence.
std::string rate_words(std::string_view what,
                       const std::optional<std::uint64_t>& rate,
                       std::string_view unit,
                       const std::optional<std::uint64_t>& promised = {}) {
    if (!rate)
        return "";
    const auto share = share_text(rate, promised);
    const bool is_promised = !share.empty();
    return phrase(
        what, {{"rate", rate_text(static_cast<double>(*rate), unit)},
               {"share", is_promised ? std::optional{share} : std::nullopt},
               {"promised", is_promised ? std::optional{rate_text(static_cast<double>(*promised))}
                                        : std::nullopt}});
}

std::string figures(const Measurement& measured, const Promise& promise) {
    std::string text;
    add_part(text, rate_words("reads {rate}[ ({share} of {promised})]", measured.memory_read, "B/s",
                              promise.memory));
    add_part(text, rate_words("copies {rate}[ ({share} of {promised})]", measured.memory_copy,
                              "B/s", promise.memory));
    add_part(text, rate_words("fp32 {rate}[ ({share} of {promised})]", measured.fp32, "op/s",
                              promise.fp32));
    add_part(text, rate_words("fp16 {rate}", measured.fp16, "op/s"));
    add_part(text, rate_words("int8 {rate}", measured.int8, "op/s"));
    return text;
}

/// The rates, or the reason why they were not measured.
std::string measurement_words(const Measurement& measured, const Promise& promise) {
    if (measured.outcome == Outcome::Answered)
        return figures(measured, promise);
    const auto why = explained(measured.reasons).text;
    return phrase(why.empty() ? "not measured ({outcome})" : "not measured ({outcome}: {why})",
                  {{"outcome", std::string{name_of(measured.outcome)}}, {"why", why}});
}

/// The peak rates of the GPU in that row; unknown for other devices.
Promise promise_for(const Report& report, const BenchRow& row) {
    const auto gpu = std::ranges::find_if(
        report.gpus, [&](const Gpu& one) { return row.gpu && one.id == *row.gpu; });
    return gpu == report.gpus.end() ? Promise{} : promise_of(*gpu);
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

/// A line of the section: one device, and the number of others with the same text.
struct Told {
    std::string backend = {};
    std::string place = {};
    std::string words = {};
    std::size_t others = 0;
};

Told told_of(const BenchRow& row, const Promise& promise) {
    return {.backend = scrubbed(row.backend),
            .place = place_words(row),
            .words = measured_words(row.verification, row.measurement, row.score, promise)};
}

/// Adds a line, or counts the row in an existing line with the same text.
void tell(std::vector<Told>& told, const BenchRow& row, const Promise& promise) {
    auto now = told_of(row, promise);
    const auto same = std::ranges::find_if(told, [&now](const Told& one) {
        return one.backend == now.backend && one.words == now.words;
    });
    if (same == told.end())
        told.push_back(std::move(now));
    else
        ++same->others;
}

}  // namespace

std::string measured_words(const std::optional<Verification>& verification,
                           const std::optional<Measurement>& measurement,
                           const std::optional<double>& score,
                           const Promise& promise) {
    std::string text;
    if (verification)
        text = verification->result == VerificationResult::Verified
                   ? "verified"
                   : phrase("not verified ({result})",
                            {{"result", std::string{name_of(verification->result)}}});
    if (!measurement)
        return text;
    add_part(text, measurement_words(*measurement, promise), "; ");
    if (measurement->outcome == Outcome::Answered && !promise.memory && !promise.fp32)
        add_part(text, "its peak is not known", "; ");
    if (score)
        add_part(text, phrase("score {score}", {{"score", rate_text(*score)}}), "; ");
    return text;
}

std::string measured_section(const Report& report, const Screen& screen) {
    std::vector<Told> told;
    const BenchRow* best = nullptr;
    std::size_t as_well = 0;
    const auto rows = bench_rows(report, {});
    // Collect the failures, and find the best of the successful rows.
    for (const auto& row : rows) {
        if (!went_well(row))
            tell(told, row, promise_for(report, row));
        else if (as_well++; !best || row.score.value_or(0) > best->score.value_or(0))
            best = &row;
    }
    if (best)
        told.insert(told.begin(), told_of(*best, promise_for(report, *best)));
    std::size_t width = 0;
    for (const auto& one : told)
        width = std::max(width, display_width(one.backend));
    std::string lines;
    for (const auto& one : told) {
        const auto sentence =
            one.others > 0 ? "{place} and {more} more: {words}" : "{place}: {words}";
        lines += hanging(screen, "  " + padded_right(one.backend, width) + "  ",
                         kMeasuredIndent + width + 2,
                         phrase(sentence, {{"place", one.place},
                                           {"more", std::to_string(one.others)},
                                           {"words", one.words}}));
    }
    if (as_well > 1)
        lines +=
            "  " +
            phrase("{more} more computed correctly{dot}gpuprobectl bench shows all",
                   {{"more", std::to_string(as_well - 1)}, {"dot", std::string{screen.dot()}}}) +
            "\n";
    return lines.empty() ? "" : "\n" + toned(screen, Tone::Strong, "Computed") + "\n" + lines;
}

}  // namespace gpuprobe::inline cli
