// SPDX-License-Identifier: Apache-2.0
#include "cli/recommendation_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.h"
#include "cli/decision_text.h"
#include "explain/explain.h"
#include "explain/gpu_words.h"
#include "explain/screen.h"
#include "explain/shell_quote.h"

namespace gpuprobe::inline cli {
namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words)
        text += (text.empty() ? "" : ", ") + scrubbed(word);
    return text;
}

/// "file https://…", "oci ghcr.io/…"
std::string artifact_words(const Value& artifact) {
    std::string text;
    if (const auto* type = artifact.at("type").as_string())
        text = scrubbed(*type);
    const auto* urls = artifact.at("urls").as_array();
    if (urls && !urls->empty() && urls->front().is_string())
        return text + " " + scrubbed(*urls->front().as_string(), 2048);
    if (const auto* ref = artifact.at("ref").as_string())
        return text + " " + scrubbed(*ref, 512);
    return text;
}

/// Why there is no variant. Which system it is may be what nobody knows, as of many a capture.
std::string_view refusal_words(const Recommendation& answer) {
    if (answer.status != RecommendStatus::NoPlatform)
        return "nothing fits";
    const bool is_unknown = std::ranges::find(answer.warnings, "platform-unknown", &Reason::code) !=
                            answer.warnings.end();
    return is_unknown ? "it is not known which system this is, and builds differ by it"
                      : "nothing for a machine like this";
}

std::string headline(const Recommendation& answer, const Report* report, const Screen& screen) {
    if (!answer.variant)
        return toned(screen, Tone::Bad, refusal_words(answer)) + "\n";
    auto text = toned(screen, Tone::Good, scrubbed(*answer.variant));
    for (std::size_t i = 0; i < answer.gpus.size(); ++i)
        text += (i == 0 ? " on " : ", ") + named_gpu_title(answer.gpus[i], report);
    if (answer.verdict == Verdict::Uncertain)
        text += toned(screen, Tone::Unsure, ", perhaps: not everything that it needs is known");
    if (answer.status == RecommendStatus::DefaultUnverified)
        text += toned(screen, Tone::Unsure, " by default: nothing is known to fit");
    return text + "\n";
}

/// What is not known of the variant that is taken.
std::string doubts(const Recommendation& answer, const Screen& screen) {
    for (const auto& candidate : answer.candidates)
        if (answer.verdict == Verdict::Uncertain && candidate.variant == answer.variant)
            return hanging(screen, "  " + toned(screen, Tone::Unsure, "?") + " ", 4,
                           explained(candidate).text);
    return "";
}

/// The remark on the variant that is taken.
std::string note_on(const Recommendation& answer) {
    for (const auto& candidate : answer.candidates)
        if (candidate.variant == answer.variant && candidate.note)
            return scrubbed(*candidate.note, 1024);
    return "";
}

}  // namespace

std::string recommendation_text(const Recommendation& answer,
                                const Report* report,
                                const Screen& screen) {
    auto text = headline(answer, report, screen);
    if (!answer.artifact.is_null())
        text += "  " + artifact_words(answer.artifact) + "\n";
    for (const auto& [name, value] : answer.environment)
        text += fmt::format("  {}={}\n", scrubbed(name), scrubbed(shell_quoted(value), 4096));
    if (!answer.fallback.empty())
        text += hanging(screen, "  then ", 7, joined(answer.fallback));
    text += doubts(answer, screen);
    if (const auto note = note_on(answer); !note.empty())
        text += hanging(screen, "  ", 2, note);
    if (answer.hint)
        text += hanging(screen, "  ", 2, scrubbed(*answer.hint, 400));
    return text + warnings_text(answer.warnings, screen);
}

std::string variants_text(const Recommendation& answer, const Screen& screen) {
    std::size_t width = 0;
    for (const auto& candidate : answer.candidates)
        width = std::max(width, display_width(candidate.variant));
    auto fixes = explained(answer.warnings).fixes;
    std::string text = "\n" + toned(screen, Tone::Strong, "Variants") + "\n";
    if (answer.candidates.empty())
        text += "  none\n";
    for (const auto& candidate : answer.candidates) {
        const auto rest = "  " + padded_right(scrubbed(candidate.variant), width) + "  ";
        const auto lead = "  " + verdict_sign(candidate.verdict, screen);
        const auto why = explained(candidate);
        text += hanging(screen, lead + rest, 3 + display_width(rest), why.text);
        for (const auto& fix : why.fixes)
            add_once(fixes, fix);
    }
    return text + fixes_text(fixes, screen);
}

}  // namespace gpuprobe::inline cli
