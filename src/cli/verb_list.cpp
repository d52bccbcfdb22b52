// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "base/record.h"
#include "base/text.h"
#include "cli/show_text.h"
#include "cli/verbs.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "report/compute_view.h"
#include "report/report.h"

namespace gpuprobe::inline cli {
namespace {

/// The table of accelerators; "" if there are none. An empty line separates it from the GPUs.
std::string accelerators_text(const Report& report, const Screen& screen) {
    Table table{{{.title = "ACCELERATOR"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true, .may_go = true},
                 {.title = "POWER", .is_right_aligned = true, .may_go = true},
                 {.title = "TEMP", .is_right_aligned = true, .may_go = true},
                 {.title = "DRIVER", .may_shrink = true}}};
    const std::string dash{screen.dash()};
    for (const auto& one : report.accelerators)
        table.add({{.text = one.id},
                   {.text = scrubbed(one.name.value_or(dash)), .tone = Tone::Strong},
                   {.text = scrubbed(one.kind.value_or(dash))},
                   {.text = size_or_dash(one.memory, screen)},
                   {.text = power_words(one.power).value_or(dash)},
                   {.text = temperature_words(one.power, screen).value_or(dash)},
                   {.text = driver_title(one.driver, screen)}});
    const auto text = table.empty() ? "" : table.text(screen);
    return text.empty() || report.gpus.empty() ? text : "\n" + text;
}

/// The tables of GPUs and accelerators. The first column is the index that verbs accept; "" without
/// devices. Pure.
std::string list_text(const Report& report, const Screen& screen) {
    Table table{{{.title = "#", .is_right_aligned = true},
                 {.title = "GPU"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true},
                 {.title = "FREE", .is_right_aligned = true, .may_go = true},
                 {.title = "DRIVER", .may_shrink = true, .may_go = true},
                 {.title = "BACKENDS"}}};
    const auto add = [&](const std::string& number, const Gpu& gpu) {
        table.add({{.text = number, .tone = Tone::Faint},
                   {.text = gpu.id},
                   {.text = gpu_title(gpu), .tone = Tone::Strong},
                   {.text = kind_title(gpu)},
                   {.text = size_or_dash(offered_memory(gpu.memory), screen)},
                   {.text = size_or_dash(gpu.memory.free, screen)},
                   {.text = driver_title(gpu.driver, screen)},
                   backends_cell(gpu, screen)});
    };
    // Below each GPU come its partitions: the usable ones with all columns, then the others with
    // their state.
    const ComputeView view{report};
    for (std::size_t index = 0; index < report.gpus.size(); ++index) {
        const auto& gpu = report.gpus[index];
        add(std::to_string(index), gpu);
        for (const auto& part : view.report().gpus)
            if (const auto* unit = unit_of(part); unit && goes_by(part, gpu.id))
                add(std::to_string(index) + "/" + unit->name, part);
        for (const auto& unit : gpu.partitions)
            if (!is_usable(unit))
                table.add({{.text = std::to_string(index) + "/" + unit.name, .tone = Tone::Faint},
                           {.text = unit.id.value_or(unit.name)},
                           {.text = std::string{screen.dash()}},
                           {.text = *unit.state, .tone = Tone::Faint},
                           {.text = std::string{screen.dash()}},
                           {.text = std::string{screen.dash()}},
                           {.text = std::string{screen.dash()}},
                           {.text = std::string{screen.dash()}}});
    }
    return (table.empty() ? "" : table.text(screen)) + accelerators_text(report, screen);
}

Result<ExitCode> run_list(Context& context) {
    if (context.wants_json()) {
        // From the document, so that members that this program does not know are kept.
        const auto document = TRY(context.client.document());
        Value list{Value::Object{}};
        list["generation"] = document.at("generation");
        list["gpus"] = document.at("gpus");
        list["accelerators"] = document.at("accelerators");
        print_json(context.arguments, list);
        return ExitCode::Answered;
    }
    const auto report = TRY(context.client.report());
    print(list_text(report, context.screen));
    if (report.gpus.empty() && report.accelerators.empty())
        remark(context.arguments, "this machine has no GPU");
    return ExitCode::Answered;
}

}  // namespace

Verb list_verb() {
    return {.name = "list",
            .overview = {{"list", "one line per GPU"}},
            .usage = {"list [OPTION…]"},
            .about = R"(
One line per GPU, the default one first; below them the accelerators that are not GPUs.
)",
            .run = run_list};
}

}  // namespace gpuprobe::inline cli
