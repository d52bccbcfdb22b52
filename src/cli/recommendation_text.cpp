// SPDX-License-Identifier: Apache-2.0
#include "cli/recommendation_text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/parse.h"
#include "cli/shell_quote.h"
#include "explain/gpu_words.h"
#include "explain/obstacles.h"
#include "explain/text_width.h"
#include "explain/wording.h"

namespace gpuprobe {
namespace {

std::string gpu_name(const std::string& id, const Report* report) {
    if (report)
        for (const auto& gpu : report->gpus)
            if (gpu.id == id)
                return fmt::format("{} ({})", scrubbed(gpu_title(gpu)), scrubbed(id));
    return scrubbed(id);
}

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

std::string headline(const Recommendation& answer, const Report* report, const Screen& screen) {
    if (!answer.variant)
        return toned(screen, Tone::Bad,
                     answer.status == RecommendStatus::NoPlatform
                         ? "nothing for a machine like this"
                         : "nothing fits") +
               "\n";
    auto text = toned(screen, Tone::Good, scrubbed(*answer.variant));
    for (std::size_t i = 0; i < answer.gpus.size(); ++i)
        text += (i == 0 ? " on " : ", ") + gpu_name(answer.gpus[i], report);
    if (answer.status == RecommendStatus::DefaultUnverified)
        text += toned(screen, Tone::Unsure, " by default: nothing is known to fit");
    return text + "\n";
}

struct Sign {
    std::string_view unicode;
    std::string_view ascii;
    Tone tone;
};

Sign sign_of(Verdict verdict) {
    switch (verdict) {
        case Verdict::Accepted:
            return {"✓", "+", Tone::Good};
        case Verdict::Rejected:
            return {"✗", "-", Tone::Bad};
        case Verdict::Unknown:
        case Verdict::Uncertain:
            break;
    }
    return {"?", "?", Tone::Unsure};
}

std::string where_of(const Reason& reason) {
    const auto* place = reason.detail.at("where").as_string();
    return place ? *place : std::string{};
}

/// The GPUs that the variant is not for.
std::set<std::string> gpus_of_others(const std::vector<Reason>& reasons) {
    std::set<std::string> found;
    for (const auto& reason : reasons)
        if (reason.is("vendor-mismatch"))
            found.insert(where_of(reason));
    return found;
}

/// The variant's own word; the report's on the backend, repeated beside it, says what that needs.
bool says_that_it_is_of_another(const Reason& reason) {
    return reason.is("vendor-mismatch") && reason.detail.at("needs").is_null();
}

/// One reason for each GPU of another vendor: the others follow from it.
std::vector<Reason> worth_saying(const std::vector<Reason>& reasons) {
    const auto of_others = gpus_of_others(reasons);
    std::vector<Reason> kept;
    for (const auto& reason : reasons)
        if (!of_others.contains(where_of(reason)) || says_that_it_is_of_another(reason))
            kept.push_back(reason);
    return kept.empty() ? reasons : kept;
}

/// Whether something can be done for it: nothing makes a GPU another vendor's. (Only GPUs have a
/// colon in their place.)
bool can_be_helped(const VariantCandidate& candidate) {
    const auto of_others = gpus_of_others(candidate.reasons);
    return of_others.empty() ||
           std::ranges::any_of(candidate.reasons, [&of_others](const Reason& reason) {
               return where_of(reason).find(':') != std::string::npos &&
                      !of_others.contains(where_of(reason));
           });
}

/// The manifest knows better than a list of sonames what to install.
bool note_helps(const VariantCandidate& candidate) {
    return candidate.note && has_reason(candidate.reasons, "library-missing");
}

/// The remark on the variant that is taken.
std::string note_on(const Recommendation& answer) {
    for (const auto& candidate : answer.candidates)
        if (candidate.variant == answer.variant && candidate.note)
            return scrubbed(*candidate.note, 1024);
    return "";
}

}  // namespace

std::string variant_sentence(const VariantCandidate& candidate, std::vector<std::string>& hints) {
    auto why = explained(worth_saying(candidate.reasons));
    if (note_helps(candidate))
        why.hints.push_back(scrubbed(*candidate.note, 1024));
    if (candidate.verdict != Verdict::Accepted && can_be_helped(candidate))
        for (const auto& hint : why.hints)
            if (std::ranges::find(hints, hint) == hints.end())
                hints.push_back(hint);
    if (candidate.verdict != Verdict::Accepted && !why.sentence.empty())
        return why.sentence;
    if (candidate.verdict == Verdict::Rejected)
        return "rejected";
    return candidate.gpus.empty() ? "can be used" : "runs on " + joined(candidate.gpus);
}

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
    if (const auto note = note_on(answer); !note.empty())
        text += hanging(screen, "  ", 2, note);
    if (answer.hint)
        text += hanging(screen, "  ", 2, scrubbed(*answer.hint, 400));
    for (const auto& warning : answer.warnings)
        text += hanging(screen, "  " + toned(screen, Tone::Unsure, "warning:") + " ", 11,
                        explain(warning).sentence);
    return text;
}

std::string variants_text(const Recommendation& answer, const Screen& screen) {
    std::size_t width = 0;
    for (const auto& candidate : answer.candidates)
        width = std::max(width, display_width(candidate.variant));
    std::vector<std::string> hints;
    std::string text = "\n" + toned(screen, Tone::Strong, "Variants") + "\n";
    if (answer.candidates.empty())
        text += "  none\n";
    for (const auto& candidate : answer.candidates) {
        const auto sign = sign_of(candidate.verdict);
        const auto rest = "  " + padded_right(scrubbed(candidate.variant), width) + "  ";
        const auto lead =
            "  " + toned(screen, sign.tone, screen.is_unicode ? sign.unicode : sign.ascii);
        text += hanging(screen, lead + rest, 3 + display_width(rest),
                        variant_sentence(candidate, hints));
    }
    if (!hints.empty())
        text += "\n" + toned(screen, Tone::Strong, "What helps") + "\n";
    for (const auto& hint : hints)
        text += hanging(screen, "  " + std::string{screen.bullet()} + " ", 4, hint);
    return text;
}

}  // namespace gpuprobe
