// SPDX-License-Identifier: Apache-2.0
#include "cli/decision_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {
namespace {

/// Widths of the columns "backend" and "GPU", which precede the sentence.
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

/// "  ✓  cuda  pci:0000:00:06.0  sentence", wrapped under the sentence.
std::string candidate_lines(const Candidate& candidate,
                            const Widths& widths,
                            const std::string& sentence,
                            const Screen& screen) {
    auto rest = "  " + padded_right(scrubbed(candidate.backend), widths.backend) + "  ";
    if (widths.gpu > 0)
        rest += padded_right(scrubbed(candidate.gpu.value_or("")), widths.gpu) + "  ";
    // Escape sequences have no width, so the width is computed without the sign.
    const auto lead = "  " + verdict_sign(candidate.verdict, screen);
    return hanging(screen, lead + rest, 3 + display_width(rest), sentence);
}

}  // namespace

std::string verdict_sign(Verdict verdict, const Screen& screen) {
    switch (verdict) {
        case Verdict::Accepted:
            return toned(screen, Tone::Good, screen.is_unicode ? "✓" : "+");
        case Verdict::Rejected:
            return toned(screen, Tone::Bad, screen.is_unicode ? "✗" : "-");
        case Verdict::Unknown:
        case Verdict::Uncertain:
            break;
    }
    return toned(screen, Tone::Unsure, "?");
}

std::string warnings_text(const std::vector<Reason>& warnings, const Screen& screen) {
    std::string text;
    for (const auto& warning : warnings)
        text += hanging(screen, "  " + toned(screen, Tone::Unsure, "warning:") + " ", 11,
                        explained(warning).text);
    return text;
}

std::string decision_text(const Decision& decision, const Report* report, const Screen& screen) {
    auto text = phrase("{backend}[ on {gpus}]",
                       {{"backend", toned(screen, Tone::Good,
                                          scrubbed(decision.backend.value_or("nothing matches")))},
                        {"gpus", named_gpu_titles(decision.gpus, report)}}) +
                "\n";
    for (const auto& [name, value] : decision.environment)
        text += fmt::format("  {}={}\n", scrubbed(name), scrubbed(shell_quoted(value), 4096));
    text += warnings_text(decision.warnings, screen);
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

std::string candidates_text(const Decision& decision,
                            const ReasonPlace& place,
                            const Screen& screen) {
    const auto widths = widths_of(decision.candidates);
    // A fix may help several candidates, but is listed once.
    auto fixes = explained(decision.warnings, place).fixes;
    std::string text = "\n" + toned(screen, Tone::Strong, "Candidates") + "\n";
    if (decision.candidates.empty())
        text += "  none\n";
    for (const auto& candidate : decision.candidates) {
        const auto why = explained(candidate, place);
        text += candidate_lines(candidate, widths, why.text, screen);
        for (const auto& fix : why.fixes)
            add_once(fixes, fix);
    }
    return text + fixes_text(fixes, screen);
}

std::string fixes_text(const std::vector<std::string>& fixes, const Screen& screen) {
    std::string text;
    if (!fixes.empty())
        text += "\n" + toned(screen, Tone::Strong, "What helps") + "\n";
    for (const auto& fix : fixes)
        text +=
            hanging_fix(screen, "  " + std::string{screen.bullet()} + " ", 4, fix, command_in(fix));
    return text;
}

}  // namespace gpuprobe::inline cli
