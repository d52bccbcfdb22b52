// SPDX-License-Identifier: Apache-2.0
#include "cli/verb_status.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "calls/surroundings.h"
#include "cli/bench.h"
#include "cli/verb.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "policy/gpu_selection.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::size_t kScreenIndent = 2;
constexpr std::size_t kMaxRows = 8;

/// Hints in the order of their causes on the screen, each once.
using Hints = std::vector<std::string>;

void add_hints(const std::vector<std::string>& more, Hints& hints) {
    for (const auto& hint : more)
        add_once(hints, hint);
}

std::string count_words(std::size_t gpus) {
    return gpus == 0 ? "No GPUs" : plural(gpus, "{number} GPU", "{number} GPUs");
}

/// The number of other items for "and {more} more"; nullopt for 0.
std::optional<std::string> number_of(std::size_t others) {
    return others > 0 ? std::optional{std::to_string(others)} : std::nullopt;
}

const Gpu* gpu_of(const Report& report, const Decision* choice) {
    return default_gpu(report, choice ? choice->gpus : std::vector<std::string>{});
}

bool any_backend_works(const Report& report) {
    return std::any_of(report.gpus.begin(), report.gpus.end(),
                       [](const Gpu& gpu) { return !usable_backends(gpu).empty(); });
}

/// "default cuda on NVIDIA H200"; "" without a decision.
std::string choice_words(const Report& report, const Decision* choice, const Screen& screen) {
    if (!choice)
        return "";
    if (!choice->backend)
        return toned(screen, Tone::Bad, "no backend to choose");
    const bool is_cpu = choice->gpus.empty();
    const auto* gpu = is_cpu ? nullptr : gpu_of(report, choice);
    return phrase(
        "default {backend}[ on {gpu}][ and {more} more]",
        {{"backend", toned(screen, is_cpu ? Tone::Unsure : Tone::Good, scrubbed(*choice->backend))},
         {"gpu", gpu ? std::optional{toned(screen, Tone::Strong, scrubbed(gpu_title(*gpu)))}
                     : std::nullopt},
         {"more", number_of(is_cpu ? 0 : choice->gpus.size() - 1)}});
}

/// The first line: how many GPUs, and the default choice.
std::string headline(const Report& report, const Decision* choice, const Screen& screen) {
    auto line = toned(screen, Tone::Strong, count_words(report.gpus.size()));
    if (!report.gpus.empty() && !any_backend_works(report))
        line += std::string{screen.dot()} +
                toned(screen, Tone::Bad,
                      plural(report.gpus.size(), "nothing is known to work on it",
                             "nothing is known to work on them"));
    const auto words = choice_words(report, choice, screen);
    return line + (words.empty() ? "" : std::string{screen.dot()} + words) + "\n";
}

void add_part(std::vector<std::string>& parts, const std::optional<std::string>& part) {
    if (part && !part->empty())
        parts.push_back(scrubbed(*part));
}

/// The second line: "Linux 6.1.0 x86_64 · glibc 2.36 · kvm guest · report 7, ready".
std::string host_line(const Report& report, const Screen& screen) {
    const auto& host = report.host;
    std::vector<std::string> parts;
    auto system = host.os.value_or("linux");
    for (const auto& word : {host.kernel, host.arch})
        system += word ? " " + *word : "";
    add_part(parts, system);
    if (host.libc.name)
        add_part(parts, *host.libc.name + " " + host.libc.version.value_or(""));
    if (host.virtualization && !host.wsl)
        add_part(parts, phrase("{kind} guest", {{"kind", *host.virtualization}}));
    if (host.container)
        add_part(parts, phrase("{kind} container", {{"kind", *host.container}}));
    if (host.wsl)
        add_part(parts, "WSL");
    const bool is_live = report.source == ReportSource::Live;
    add_part(parts,
             phrase("report {number}, {state}[, from {source}]",
                    {{"number", std::to_string(report.generation)},
                     {"state", std::string{name_of(report.state)}},
                     {"source", is_live ? std::nullopt
                                        : std::optional<std::string>{name_of(report.source)}}}));
    std::string line;
    for (const auto& part : parts)
        line += (line.empty() ? "" : std::string{screen.dot()}) + std::string{trimmed(part)};
    const auto columns = screen.columns == 0 ? display_width(line) : screen.columns;
    return toned(screen, Tone::Faint, cut_to(line, columns, screen.ellipsis())) + "\n";
}

std::vector<std::vector<Cell>> gpu_rows(const Report& report, const Screen& screen) {
    std::vector<std::vector<Cell>> rows;
    for (const auto& gpu : report.gpus)
        rows.push_back(
            {{.text = gpu.id},
             {.text = gpu_title(gpu), .tone = Tone::Strong},
             {.text = kind_title(gpu), .tone = gpu.health == "ok" ? Tone::Plain : Tone::Unsure},
             {.text = driver_title(gpu.driver, screen)},
             {.text = size_or_dash(offered_memory(gpu.memory), screen)},
             backends_cell(gpu, screen)});
    return rows;
}

/// The end of the run of rows, starting at `start`, that differ only in the id.
std::size_t end_of_likes(const std::vector<std::vector<Cell>>& rows, std::size_t start) {
    const auto differs = [&first = rows[start]](const std::vector<Cell>& row) {
        return !std::equal(row.begin() + 1, row.end(), first.begin() + 1, first.end());
    };
    return static_cast<std::size_t>(
        std::find_if(rows.begin() + static_cast<std::ptrdiff_t>(start), rows.end(), differs) -
        rows.begin());
}

/// The table of GPUs. With more than kMaxRows GPUs, equal ones share a row, so that the table fits
/// on a screen.
std::string gpu_table(const Report& report, const Screen& screen) {
    Table table{{{.title = "GPU"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "DRIVER", .may_shrink = true, .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true},
                 {.title = "BACKENDS"}}};
    const auto rows = gpu_rows(report, screen);
    for (std::size_t i = 0; i < rows.size();) {
        const auto end = report.gpus.size() > kMaxRows ? end_of_likes(rows, i) : i + 1;
        auto row = rows[i];
        row.front().text = phrase("{gpu}[ and {more} more]", {{"gpu", std::move(row.front().text)},
                                                              {"more", number_of(end - i - 1)}});
        table.add(std::move(row));
        i = end;
    }
    return table.empty() ? "" : "\n" + table.text(screen, kScreenIndent);
}

std::string section(const Screen& screen, std::string_view title) {
    return "\n" + toned(screen, Tone::Strong, title) + "\n";
}

/// Lines such as "  vulkan  pci:0000:01:00.0: because …". Names are padded to the widest of the
/// section.
std::string obstacle_lines(const std::vector<Obstacle>& all, const Screen& screen) {
    std::size_t name_width = 0;
    for (const auto& obstacle : all)
        name_width = std::max(name_width, display_width(obstacle.backend));
    std::string lines;
    for (const auto& obstacle : all) {
        const auto name = padded_right(scrubbed(obstacle.backend), name_width);
        const auto tone = obstacle.is_uncertain ? Tone::Unsure : Tone::Plain;
        const auto gpu = obstacle.gpu ? std::optional{scrubbed(*obstacle.gpu)} : std::nullopt;
        lines += hanging(
            screen, "  " + toned(screen, tone, name) + "  ", kScreenIndent + name_width + 2,
            phrase(obstacle.others > 0 ? "{gpu} and {more} more: {why}" : "[{gpu}: ]{why}",
                   {{"gpu", gpu}, {"more", number_of(obstacle.others)}, {"why", obstacle.text}}));
    }
    return lines;
}

/// The sections "Not usable" and "Not known".
std::string obstacle_section(const std::vector<Obstacle>& all, const Screen& screen, Hints& hints) {
    std::vector<Obstacle> unusable;
    std::vector<Obstacle> unknown;
    for (const auto& obstacle : all) {
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

/// "  ! device-not-ready", or "" for a healthy accelerator.
std::string trouble_of(const Accelerator& accelerator) {
    const auto health = accelerator.health.value_or("ok");
    return health == "ok" ? "" : "  ! " + scrubbed(health);
}

std::string accelerator_section(const Report& report, const Screen& screen) {
    if (report.accelerators.empty())
        return "";
    std::string lines = section(screen, "Accelerators");
    for (const auto& accelerator : report.accelerators)
        lines +=
            hanging(screen, "  ", kScreenIndent,
                    fmt::format("{}  {}  {}{}{}", scrubbed(accelerator.id),
                                scrubbed(accelerator.name.value_or("unnamed")),
                                accelerator.kind ? scrubbed(*accelerator.kind) + "  " : "",
                                driver_title(accelerator.driver, screen), trouble_of(accelerator)));
    return lines;
}

std::string problem_line(const Screen& screen, std::string_view text) {
    const auto lead = "  " + toned(screen, Tone::Bad, screen.bullet()) + " ";
    return hanging(screen, lead, kScreenIndent + 2, text);
}

/// The GPU's findings that the obstacles above don't mention yet.
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
        add_once(hints, phrase("have it asked again: gpuprobectl quarantine clear {api}",
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

/// The fixes for everything above, and where to find more.
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
        id ? fmt::format("gpuprobectl show {}", *id) : std::string{"gpuprobectl describe"};
    return lines + "\n" +
           toned(screen, Tone::Faint,
                 fmt::format("More: {}{}gpuprobectl select --explain", more, screen.dot())) +
           "\n";
}

}  // namespace

std::string status_text(const Report& report,
                        const std::vector<Finding>& findings,
                        const Decision* choice,
                        const Screen& screen) {
    // The sections collect their fixes in `hints`, which come last.
    const auto in_the_way = obstacles(report, findings);
    Hints hints;
    auto text =
        headline(report, choice, screen) + host_line(report, screen) + gpu_table(report, screen);
    text += measured_section(report, screen);
    text += obstacle_section(in_the_way, screen, hints);
    text += software_section(report, screen);
    text += accelerator_section(report, screen);
    text += problem_section(report, findings, in_the_way, screen, hints);
    return text + hint_section(report, choice, screen, hints);
}

namespace {

Result<ExitCode> run_status(Context& context) {
    if (context.wants_json()) {
        print_json(context.arguments, TRY(context.client.document()));
        return ExitCode::Answered;
    }
    const auto report = TRY(context.client.report());
    // If there is no decision, the screen shows only which backends work.
    const auto choice = context.client.select("default", Value{Value::Object{}});
    print(status_text(report, own_findings(report), choice ? &*choice : nullptr, context.screen));
    return ExitCode::Answered;
}

}  // namespace

Verb status_verb() {
    return {.name = "status",
            .overview = {{"status", "one screen about this machine (default)"}},
            .usage = {"[status] [OPTION…]"},
            .about = R"(
One screen: the GPUs, the backends that work on them, why others do not, what crashed, and what to
do about it.
)",
            .run = run_status};
}

}  // namespace gpuprobe::inline cli
