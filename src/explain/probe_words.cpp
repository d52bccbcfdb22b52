// SPDX-License-Identifier: Apache-2.0
#include "explain/probe_words.h"

#include <algorithm>

#include "base/parse.h"
#include "base/signal_name.h"
#include "explain/explain.h"
#include "explain/sizes.h"
#include "explain/table.h"

namespace gpuprobe::inline explain {
namespace {

std::string past_tense(const ProbeEntry& probe) {
    switch (probe.outcome) {
        case Outcome::Crashed:
            return probe.signal ? "crashed with " + signal_name(*probe.signal) : "crashed";
        case Outcome::TimedOut:
            return "did not answer in time";
        case Outcome::Failed:
            return "failed";
        default:
            return std::string{name_of(probe.outcome)};
    }
}

}  // namespace

bool went_wrong(const ProbeEntry& probe) {
    return probe.outcome == Outcome::Crashed || probe.outcome == Outcome::TimedOut ||
           probe.outcome == Outcome::Failed;
}

std::string problem_sentence(const ProbeEntry& probe) {
    auto text = scrubbed(probe.api) + ": ";
    text += probe.driver.empty() ? "the driver" : scrubbed(probe.driver);
    text += " " + past_tense(probe);
    if (probe.stage != "query")
        text += " while it was " + std::string{probe.stage == "verify" ? "verified" : "measured"} +
                (probe.device ? " on " + scrubbed(*probe.device) : "");
    if (probe.duration)
        text += " after " + duration_text(*probe.duration, "u");
    if (probe.note)
        text += ": " + scrubbed(*probe.note);
    return text;
}

std::string harm_words(const QuarantinedProbe& held) {
    const auto times = held.times > 1 ? " " + std::to_string(held.times) + " times" : std::string{};
    switch (held.why) {
        case Harm::Crashed:
            return "it crashed" + times;
        case Harm::TimedOut:
            return "it hung" + times;
        case Harm::MachineWentDown:
            return "the machine went down while it was asked";
        case Harm::DaemonWentDown:
            break;
    }
    return "the daemon went down while it was asked" + times;
}

std::string quarantine_sentence(const QuarantinedProbe& held) {
    return scrubbed(held.api) + ": " +
           (held.driver.empty() ? "the driver" : scrubbed(held.driver)) +
           " is in quarantine until " + time_text(held.until) + ": " + harm_words(held);
}

std::string driver_file(const ProbeEntry& probe, const Screen& screen) {
    if (probe.driver.empty())
        return std::string{screen.dash()};
    return probe.driver.substr(probe.driver.rfind('/') + 1);
}

std::string ending(const ProbeEntry& probe) {
    std::string text;
    if (probe.signal)
        text = signal_name(*probe.signal);
    else if (probe.exit_code && *probe.exit_code != 0)
        text = "exit code " + std::to_string(*probe.exit_code);
    if (probe.note)
        text += (text.empty() ? "" : ": ") + *probe.note;
    return text;
}

Tone tone_of(Outcome outcome) {
    switch (outcome) {
        case Outcome::Answered:
            return Tone::Good;
        case Outcome::Absent:
            return Tone::Faint;
        case Outcome::Skipped:
            return Tone::Unsure;
        default:
            return Tone::Bad;
    }
}

std::string probe_table(const std::vector<ProbeEntry>& probes, const Screen& screen) {
    const bool has_devices = std::ranges::any_of(
        probes, [](const ProbeEntry& probe) { return probe.device.has_value(); });
    Table table{{{.title = "API"},
                 {.title = has_devices ? "DEVICE" : "DRIVER", .may_shrink = true},
                 {.title = "OUTCOME"},
                 {.title = "TIME", .is_right_aligned = true},
                 {.title = "NOTE", .may_shrink = true}}};
    for (const auto& probe : probes)
        table.add({{.text = probe.api},
                   {.text = probe.device.value_or(driver_file(probe, screen))},
                   {.text = std::string{name_of(probe.outcome)}, .tone = tone_of(probe.outcome)},
                   {.text = probe.duration ? duration_text(*probe.duration, screen.micro())
                                           : std::string{screen.dash()}},
                   {.text = ending(probe)}});
    return table.empty() ? "" : table.text(screen);
}

std::string probe_summary(const std::vector<ProbeEntry>& probes) {
    std::string counts;
    for (const auto& entry : names_of(Outcome{})) {
        const auto count = std::count_if(
            probes.begin(), probes.end(),
            [&entry](const ProbeEntry& probe) { return probe.outcome == entry.value; });
        if (count > 0)
            counts += (counts.empty() ? ": " : ", ") + std::to_string(count) + " " +
                      std::string{entry.name};
    }
    return std::to_string(probes.size()) + (probes.size() == 1 ? " probe" : " probes") + counts;
}

}  // namespace gpuprobe::inline explain
