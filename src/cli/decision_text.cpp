// SPDX-License-Identifier: Apache-2.0
#include "cli/decision_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/parse.h"
#include "cli/shell_quote.h"
#include "explain/gpu_words.h"
#include "explain/obstacles.h"
#include "explain/text_width.h"

namespace gpuprobe {
namespace {

std::string gpu_name(const std::string& id, const Report* report) {
    if (report)
        for (const auto& gpu : report->gpus)
            if (gpu.id == id)
                return fmt::format("{} ({})", scrubbed(gpu_title(gpu)), scrubbed(id));
    return scrubbed(id);
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

std::string verdict_sentence(const Candidate& candidate, const std::string& sentence) {
    if (!sentence.empty())
        return sentence;
    return candidate.verdict == Verdict::Accepted ? "can be used"
                                                  : std::string{name_of(candidate.verdict)};
}

/// Widths of the two columns in front of the sentence.
struct Widths {
    std::size_t backend = 0;
    std::size_t gpu = 0;
};

Widths widths_of(const std::vector<Candidate>& candidates) {
    Widths widths;
    for (const auto& candidate : candidates) {
        widths.backend = std::max(widths.backend, display_width(candidate.backend));
        widths.gpu = std::max(widths.gpu, display_width(candidate.gpu.value_or("")));
    }
    return widths;
}

std::string candidate_lines(const Candidate& candidate,
                            const Widths& widths,
                            const std::string& sentence,
                            const Screen& screen) {
    const auto sign = sign_of(candidate.verdict);
    auto rest = "  " + padded_right(scrubbed(candidate.backend), widths.backend) + "  ";
    if (widths.gpu > 0)
        rest += padded_right(scrubbed(candidate.gpu.value_or("")), widths.gpu) + "  ";
    const auto lead =
        "  " + toned(screen, sign.tone, screen.is_unicode ? sign.unicode : sign.ascii);
    return hanging(screen, lead + rest, 3 + display_width(rest), sentence);
}

}  // namespace

std::string decision_text(const Decision& decision, const Report* report, const Screen& screen) {
    std::string text =
        toned(screen, Tone::Good, scrubbed(decision.backend.value_or("nothing matches")));
    bool is_first = true;
    for (const auto& id : decision.gpus) {
        text += (is_first ? " on " : ", ") + gpu_name(id, report);
        is_first = false;
    }
    text += "\n";
    for (const auto& [name, value] : decision.environment)
        text += fmt::format("  {}={}\n", scrubbed(name), scrubbed(shell_quoted(value), 4096));
    if (!decision.summary.empty() && screen.has_legend)
        text += "  " + toned(screen, Tone::Faint, scrubbed(decision.summary, 1024)) + "\n";
    return text;
}

std::string consumer_text(const Decision& decision, const Screen& screen) {
    std::string text;
    if (!decision.answers.empty())
        text += "\n" + toned(screen, Tone::Strong, "Answers") + "\n";
    for (const auto& [name, value] : decision.answers)
        text += fmt::format("  {}={}\n", scrubbed(name), scrubbed(value));
    if (!decision.messages.empty())
        text += "\n" + toned(screen, Tone::Strong, "The consumer's words") + "\n";
    for (const auto& message : decision.messages)
        for (const auto line : split(message, '\n'))
            text += "  " + scrubbed(line, 1024) + "\n";
    return text;
}

std::string candidates_text(const Decision& decision, const Screen& screen) {
    const auto widths = widths_of(decision.candidates);
    std::vector<std::string> hints;
    std::string text = "\n" + toned(screen, Tone::Strong, "Candidates") + "\n";
    if (decision.candidates.empty())
        text += "  none\n";
    for (const auto& candidate : decision.candidates) {
        const auto why = explained(candidate.reasons);
        text +=
            candidate_lines(candidate, widths, verdict_sentence(candidate, why.sentence), screen);
        for (const auto& hint : why.hints)
            if (std::find(hints.begin(), hints.end(), hint) == hints.end())
                hints.push_back(hint);
    }
    if (!hints.empty())
        text += "\n" + toned(screen, Tone::Strong, "What helps") + "\n";
    for (const auto& hint : hints)
        text += hanging(screen, "  " + std::string{screen.bullet()} + " ", 4, hint);
    return text;
}

Value decision_document(const Decision& decision) {
    const auto record = to_value(decision);
    Value document{Value::Object{}};
    for (const char* key : {"consumer", "backend", "gpus", "environment", "answers", "messages",
                            "candidates", "decision", "generation"})
        document[key] = record.at(key);
    return document;
}

}  // namespace gpuprobe
