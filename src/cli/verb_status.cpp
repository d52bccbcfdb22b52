// SPDX-License-Identifier: Apache-2.0
#include "cli/verb_status.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "calls/surroundings.h"
#include "cli/bench.h"
#include "cli/machine_text.h"
#include "cli/verb.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "policy/gpu_selection.h"
#include "report/api_table.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::size_t kScreenIndent = 2;

/// Hints without duplicates, in the order in which their causes are on the screen.
using Hints = std::vector<std::string>;

void add_hints(const std::vector<std::string>& more, Hints& hints) {
    for (const auto& hint : more)
        add_once(hints, hint);
}

std::string count_words(std::size_t gpus) {
    return gpus == 0 ? "No GPUs" : plural(gpus, "{number} GPU", "{number} GPUs");
}

const Gpu* gpu_of(const Report& report, const Decision* choice) {
    return default_gpu(report, choice ? choice->gpus : std::vector<std::string>{});
}

bool any_backend_works(const Report& report) {
    return std::any_of(report.gpus.begin(), report.gpus.end(),
                       [](const Gpu& gpu) { return !usable_backends(gpu).empty(); });
}

/// The first line: the number of GPUs, and the default choice.
std::string headline(const Report& report, const Decision* choice, const Screen& screen) {
    std::vector<std::string> parts{toned(screen, Tone::Strong, count_words(report.gpus.size()))};
    if (!report.gpus.empty() && !any_backend_works(report))
        parts.push_back(toned(screen, Tone::Bad,
                              plural(report.gpus.size(), "no backend is known to work on it",
                                     "no backend is known to work on them")));
    if (auto words = default_text(report, choice, screen); !words.empty())
        parts.push_back(std::move(words));
    return hanging_parts(screen, "", parts);
}

/// The table of GPUs. Identical GPUs share a row, unless `shows_all` is set.
std::string gpu_table(const Report& report, bool shows_all, const Screen& screen) {
    Table table{{{.title = "GPU"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "DRIVER", .may_shrink = true, .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true},
                 {.title = "BACKENDS"}}};
    for (const auto& group : like_gpus(report, screen, shows_all)) {
        const auto& gpu = *group.gpu;
        table.add(
            {{.text = id_of(group, screen)},
             {.text = title_of(group), .tone = Tone::Strong},
             {.text = kind_title(gpu), .tone = gpu.health == "ok" ? Tone::Plain : Tone::Unsure},
             {.text = driver_title(gpu.driver, screen)},
             {.text = size_or_unknown(offered_memory(gpu.memory))},
             backends_cell(gpu, screen)});
    }
    return table.empty() ? "" : "\n" + table.text(screen, kScreenIndent);
}

std::string section(const Screen& screen, std::string_view title) {
    return "\n" + hanging(screen, "", 0, title, Tone::Strong);
}

/// A name with its description on the right, or below the name on a narrow screen.
std::string named_lines(const Screen& screen,
                        const std::string& name,
                        std::size_t name_width,
                        Tone tone,
                        const std::string& text) {
    constexpr std::size_t kLeastText = 20;
    const auto beside = kScreenIndent + name_width + 2;
    if (screen.columns > 0 && beside + kLeastText > screen.columns)
        return hanging(screen, "  ", kScreenIndent, name, tone) +
               hanging(screen, "    ", kScreenIndent + 2, text);
    return hanging(screen, "  " + toned(screen, tone, padded_right(name, name_width)) + "  ",
                   beside, text);
}

/// Lines such as " vulkan pci:0000:01:00.0: because …". Names are padded to the width of the
/// longest name in the section.
std::string obstacle_lines(const std::vector<Obstacle>& all, const Screen& screen) {
    std::size_t name_width = 0;
    for (const auto& obstacle : all)
        name_width = std::max(name_width, display_width(obstacle.backend));
    std::string lines;
    for (const auto& obstacle : all) {
        const auto tone = obstacle.is_uncertain ? Tone::Unsure : Tone::Plain;
        const auto gpu = obstacle.gpu ? std::optional{scrubbed(*obstacle.gpu)} : std::nullopt;
        // The text names one GPU, so only the number of the other GPUs is added.
        const auto text = obstacle.others > 0
                              ? plural(obstacle.others, "{gpu}: {why} (same for 1 more GPU)",
                                       "{gpu}: {why} (same for {number} more GPUs)",
                                       {{"gpu", gpu}, {"why", obstacle.text}})
                              : phrase("[{gpu}: ]{why}", {{"gpu", gpu}, {"why", obstacle.text}});
        lines += named_lines(screen, scrubbed(obstacle.backend), name_width, tone, text);
    }
    return lines;
}

/// Whether a probe of the obstacle's backends crashed, hung or failed.
bool has_failed(const Obstacle& obstacle, const Report& report) {
    const auto backends = comma_list(obstacle.backend);
    return std::ranges::any_of(report.probes, [&backends](const ProbeEntry& probe) {
        return went_wrong(probe) && std::ranges::any_of(backends, [&](const std::string& backend) {
                   return api_below(backend) == probe.api;
               });
    });
}

/// Whether a fix for the obstacle is needed. If a GPU works with another backend, a backend that
/// wasn't probed on the GPU isn't a problem.
bool needs_help(const Obstacle& obstacle, const Report& report) {
    const auto lacks_backend = [&obstacle](const Gpu& gpu) {
        return obstacle.gpu.value_or(gpu.id) == gpu.id && usable_backends(gpu).empty();
    };
    return !obstacle.is_uncertain || has_failed(obstacle, report) ||
           std::ranges::any_of(report.gpus, lacks_backend);
}

/// The sections "Not usable" and "Not known".
std::string obstacle_section(const std::vector<Obstacle>& all,
                             const Report& report,
                             const Screen& screen,
                             Hints& hints) {
    std::vector<Obstacle> unusable;
    std::vector<Obstacle> unknown;
    for (const auto& obstacle : all) {
        if (needs_help(obstacle, report))
            add_hints(obstacle.fixes, hints);
        (obstacle.is_uncertain ? unknown : unusable).push_back(obstacle);
    }
    std::string text;
    if (!unusable.empty())
        text += section(screen, "Not usable") + obstacle_lines(unusable, screen);
    if (!unknown.empty())
        text += section(screen, "Not known") + obstacle_lines(unknown, screen);
    return text;
}

/// Software implementations, such as llvmpipe, that APIs list as devices.
std::string software_section(const Report& report, const Screen& screen) {
    if (report.software.empty())
        return "";
    std::size_t width = 0;
    for (const auto& software : report.software)
        width = std::max(width, display_width(software.api));
    std::string lines = section(screen, "Software implementations, never chosen as a GPU");
    for (const auto& software : report.software)
        lines += hanging(screen, "  " + padded_right(scrubbed(software.api), width) + "  ",
                         kScreenIndent + width + 2, scrubbed(software.name.value_or("unnamed")));
    return lines;
}

/// The health of an accelerator, such as "  ! device-not-ready", or "" if it is healthy.
std::string trouble_of(const Accelerator& accelerator) {
    const auto health = accelerator.health.value_or("ok");
    return health == "ok" ? "" : "  ! " + scrubbed(health);
}

std::string accelerator_section(const Report& report, bool shows_all, const Screen& screen) {
    if (report.accelerators.empty())
        return "";
    LikeAccelerators all;
    for (const auto& accelerator : report.accelerators)
        all.push_back(&accelerator);
    std::string lines = section(screen, "Accelerators");
    for (const auto& group : like_accelerators(all, screen, shows_all)) {
        const auto& accelerator = *group.front();
        lines += hanging(
            screen, "  ", kScreenIndent,
            fmt::format("{}  {}  {}{}{}", scrubbed(id_of(group, screen)), scrubbed(title_of(group)),
                        accelerator.kind ? scrubbed(*accelerator.kind) + "  " : "",
                        driver_title(accelerator.driver, screen), trouble_of(accelerator)));
    }
    return lines;
}

std::string problem_line(const Screen& screen, std::string_view text) {
    const auto lead = "  " + toned(screen, Tone::Bad, screen.bullet()) + " ";
    return hanging(screen, lead, kScreenIndent + 2, text);
}

/// The findings about the GPU that are missing from the list of obstacles.
std::vector<Reason> unshown_findings(const Gpu& gpu, const std::vector<Obstacle>& shown) {
    auto findings = gpu.findings;
    std::erase_if(findings, [&](const Reason& finding) {
        const auto sentence = explained(finding).text;
        return std::any_of(shown.begin(), shown.end(), [&](const Obstacle& obstacle) {
            return obstacle.gpu.value_or(gpu.id) == gpu.id &&
                   obstacle.text.find(sentence) != std::string::npos;
        });
    });
    return findings;
}

/// Problems of the machine itself, not of a GPU.
std::string machine_lines(const std::vector<Finding>& findings,
                          const Screen& screen,
                          Hints& hints) {
    std::string lines;
    for (const auto& finding : findings) {
        if (finding.gpu || finding.severity < Severity::Warning)
            continue;
        lines += problem_line(screen, finding.sentence);
        if (finding.fix)
            add_once(hints, *finding.fix);
    }
    return lines;
}

/// The section "Problems": the machine, failed probes, quarantined drivers, GPUs, and notes.
std::string problem_section(const Report& report,
                            const std::vector<Finding>& found,
                            const std::vector<Obstacle>& shown,
                            const Screen& screen,
                            Hints& hints) {
    auto lines = machine_lines(found, screen, hints);
    for (const auto& probe : report.probes) {
        if (!went_wrong(probe))
            continue;
        lines += problem_line(screen, problem_sentence(probe));
    }
    for (const auto& held : report.quarantine) {
        lines += problem_line(screen, quarantine_sentence(held));
        add_once(hints, phrase("to probe the driver again: gpuprobectl quarantine clear {api}",
                               {{"api", command_word(held.api)}}));
    }
    for (const auto& gpu : report.gpus) {
        const auto findings =
            explained(unshown_findings(gpu, shown), {.findings = &found, .gpu = gpu.id});
        if (!findings.text.empty())
            lines += problem_line(screen, scrubbed(gpu.id) + ": " + findings.text);
        add_hints(findings.fixes, hints);
    }
    const auto notes = explained(report.notes);
    if (!notes.text.empty())
        lines += problem_line(screen, notes.text);
    add_hints(notes.fixes, hints);
    return lines.empty() ? "" : section(screen, "Problems") + lines;
}

/// The fixes for all problems on the screen, and the commands that show more.
std::string hint_section(const Report& report,
                         const Decision* choice,
                         const Screen& screen,
                         const Hints& hints) {
    std::string lines;
    for (const auto& hint : hints)
        lines += hanging_fix(screen, "  " + std::string{screen.bullet()} + " ", kScreenIndent + 2,
                             hint, command_in(hint));
    if (!lines.empty())
        lines = section(screen, "What helps") + lines;
    if (!screen.has_legend)
        return lines;
    const auto* gpu = gpu_of(report, choice);
    const auto id = gpu ? command_word(gpu->id) : std::nullopt;
    const auto more =
        id ? fmt::format("gpuprobectl show {} --all", *id) : std::string{"gpuprobectl describe"};
    return lines + "\n" +
           hanging_parts(screen, "",
                         {toned(screen, Tone::Faint, "More: " + more),
                          toned(screen, Tone::Faint, "gpuprobectl select --explain")});
}

}  // namespace

std::string status_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Decision* choice,
                        const Screen& screen,
                        bool shows_all) {
    // The sections collect their fixes in `hints`, which are printed last.
    const auto in_the_way = obstacles(report, findings);
    Hints hints;
    auto text = headline(report, choice, screen) + machine_line(report, screen) +
                gpu_table(report, shows_all, screen);
    text += measured_section(report, screen);
    text += obstacle_section(in_the_way, report, screen, hints);
    text += software_section(report, screen);
    text += accelerator_section(report, shows_all, screen);
    text += problem_section(report, findings, in_the_way, screen, hints);
    return text + hint_section(report, choice, screen, hints);
}

namespace {

Result<ExitCode> run_status(Context& context) {
    if (context.wants_json()) {
        print_json(context.arguments, TRY(context.client.ask("Describe")));
        return ExitCode::Answered;
    }
    const auto report = TRY(context.client.report());
    // If there is no decision, the screen shows only which backends work.
    const auto choice = context.client.select("default", Value{Value::Object{}});
    print(status_text(report, own_findings(report), choice ? &*choice : nullptr, context.screen,
                      context.arguments.shows_all));
    return ExitCode::Answered;
}

}  // namespace

Verb status_verb() {
    return {.name = "status",
            .overview = {{"status", "show a one-screen summary of this machine (default)"}},
            .usage = {"[status] [--all] [OPTION…]"},
            .about = R"(
Shows one screen: the GPUs, the backends that work on them, why other backends do not work, which
drivers crashed, and how to fix these problems. Identical GPUs share a row, and so do identical accelerators.
)",
            .options = {all_option("show one row for each GPU and accelerator")},
            .run = run_status};
}

}  // namespace gpuprobe::inline cli
