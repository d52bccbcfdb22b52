// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "base/record.h"
#include "base/text.h"
#include "base/units.h"
#include "calls/surroundings.h"
#include "cli/choice.h"
#include "cli/machine_text.h"
#include "cli/show_text.h"
#include "cli/verb.h"
#include "cli/video_text.h"
#include "engine/live_memory.h"
#include "explain/explain.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"
#include "report/compute_view.h"
#include "report/report.h"

namespace gpuprobe::inline cli {
namespace {

/// A value of each accelerator in a group, such as "92 W", or "92 W, 101 W" if the values differ.
template <class Words>
std::string texts_of(const LikeAccelerators& group, const Words& words) {
    std::vector<std::string> texts;
    for (const auto* one : group)
        add_once(texts, words(one->power).value_or(std::string{kUnknown}));
    return base::joined(texts, ", ");
}

/// The table of accelerators; "" if there are none. An empty line separates the table from the
/// GPUs.
std::string accelerators_text(const Report& report, bool shows_all, const Screen& screen) {
    Table table{{{.title = "ACCELERATOR"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true, .may_go = true},
                 {.title = "POWER", .is_right_aligned = true, .may_go = true},
                 {.title = "TEMP", .is_right_aligned = true, .may_go = true},
                 {.title = "DRIVER", .may_shrink = true}}};
    const std::string unknown{kUnknown};
    LikeAccelerators all;
    for (const auto& one : report.accelerators)
        all.push_back(&one);
    for (const auto& group : like_accelerators(all, screen, shows_all)) {
        const auto& one = *group.front();
        table.add({{.text = id_of(group, screen)},
                   {.text = scrubbed(title_of(group)), .tone = Tone::Strong},
                   {.text = scrubbed(one.kind.value_or(unknown))},
                   {.text = size_or_unknown(one.memory)},
                   {.text = texts_of(group, power_words)},
                   {.text = texts_of(group,
                                     [&screen](const AcceleratorPower& power) {
                                         return temperature_words(power, screen);
                                     })},
                   {.text = driver_title(one.driver, screen)}});
    }
    const auto text = table.empty() ? "" : table.text(screen);
    return text.empty() || report.gpus.empty() ? text : "\n" + text;
}

/// The free memory of a group, such as "12.0 GiB", or "12.0 GiB to 139.8 GiB" if the GPUs differ.
std::string free_text(const Report& report, const LikeGpus& group) {
    auto least = group.gpu->memory.free;
    auto most = least;
    for (const auto index : group.indices) {
        const auto& free = report.gpus[index].memory.free;
        if (!free || !least)
            return std::string{kUnknown};
        least = std::min(*least, *free);
        most = std::max(*most, *free);
    }
    const auto text = size_or_unknown(least);
    const auto highest = size_or_unknown(most);
    return text == highest ? text
                           : phrase("{least} to {most}", {{"least", text}, {"most", highest}});
}

/// The row of a group of GPUs, or of a partition.
std::vector<Cell> gpu_row(const std::string& number,
                          const LikeGpus& group,
                          const std::string& free,
                          const Screen& screen) {
    const auto& gpu = *group.gpu;
    return {{.text = number, .tone = Tone::Faint},
            {.text = id_of(group, screen)},
            {.text = title_of(group), .tone = Tone::Strong},
            {.text = kind_title(gpu)},
            {.text = size_or_unknown(offered_memory(gpu.memory))},
            {.text = free},
            {.text = driver_title(gpu.driver, screen)},
            backends_cell(gpu, screen)};
}

/// The row of partitions that programs can't use. The column for the kind shows the state of the
/// partitions.
std::vector<Cell> unusable_row(const std::string& number,
                               const std::vector<const Partition*>& group,
                               const Screen& screen) {
    const auto& partition = *group.front();
    const Cell none{.text = std::string{screen.dash()}};
    const auto count = group.size() > 1
                           ? plural(group.size(), "{number} partition", "{number} partitions")
                           : std::string{};
    return {{.text = number, .tone = Tone::Faint},
            {.text = first_of(partition.id.value_or(partition.name), group.size(), screen)},
            count.empty() ? none : Cell{.text = count},
            {.text = *partition.state, .tone = Tone::Faint},
            none,
            none,
            none,
            none};
}

/// Adds the rows of a GPU's partitions: first the usable partitions with all columns, then the
/// other partitions with their state. Identical partitions share a row, unless `shows_all` is set.
void add_partitions(const Gpu& gpu,
                    const std::string& number,
                    const ComputeView& view,
                    bool shows_all,
                    const Screen& screen,
                    Table& table) {
    const auto number_of = [&](const std::string& name, std::size_t count) {
        return first_of(number + "/" + name, count, screen);
    };
    Report parts;
    for (const auto& part : view.report().gpus)
        if (partition_of(part) && goes_by(part, gpu.id))
            parts.gpus.push_back(part);
    for (const auto& group : like_gpus(parts, screen, shows_all))
        table.add(gpu_row(number_of(partition_of(*group.gpu)->name, group.indices.size()), group,
                          free_text(parts, group), screen));
    std::vector<std::vector<const Partition*>> unusable;
    for (const auto& partition : gpu.partitions) {
        if (is_usable(partition))
            continue;
        const auto same = std::ranges::find_if(unusable, [&](const auto& group) {
            return !shows_all && group.front()->state == partition.state;
        });
        if (same == unusable.end())
            unusable.push_back({&partition});
        else
            same->push_back(&partition);
    }
    for (const auto& group : unusable)
        table.add(unusable_row(number_of(group.front()->name, group.size()), group, screen));
}

/// The tables of GPUs and accelerators. The first column is the index that verbs accept. Identical
/// GPUs share a row, unless `shows_all` is set. Returns "" if there are no devices. This function
/// is pure.
std::string list_text(const Report& report, bool shows_all, const Screen& screen) {
    Table table{{{.title = "#", .is_right_aligned = true},
                 {.title = "GPU"},
                 {.title = "NAME", .may_shrink = true},
                 {.title = "KIND", .may_go = true},
                 {.title = "MEMORY", .is_right_aligned = true},
                 {.title = "FREE", .is_right_aligned = true, .may_go = true},
                 {.title = "DRIVER", .may_shrink = true, .may_go = true},
                 {.title = "BACKENDS"}}};
    const ComputeView view{report};
    for (const auto& group : like_gpus(report, screen, shows_all)) {
        const auto number = index_text(group.indices);
        table.add(gpu_row(number, group, free_text(report, group), screen));
        add_partitions(*group.gpu, number, view, shows_all, screen, table);
    }
    return (table.empty() ? "" : table.text(screen)) + accelerators_text(report, shows_all, screen);
}

/// Whether the figure of free memory is so old that its age must be shown.
bool has_old_memory(const Gpu& gpu) {
    constexpr Duration kIsOfNow = std::chrono::seconds{2};
    return gpu.memory.free_at && SystemClock{}.wall() - *gpu.memory.free_at > kIsOfNow;
}

/// The report with memory figures that are at most two seconds old. The figures of sleeping GPUs
/// may be older.
Result<Report> current_report(Client& client) {
    auto found = TRY(client.report());
    if (found.source == ReportSource::Replay || std::ranges::none_of(found.gpus, has_old_memory))
        return found;
    // One query updates all GPUs that NVIDIA's driver serves. Other old figures are updated by one
    // query for each GPU.
    TRY(client.renew());
    found = TRY(client.report());
    for (auto& gpu : found.gpus)
        if (has_old_memory(gpu))
            TRY(client.refresh_memory(gpu));
    return found;
}

Result<ExitCode> run_list(Context& context) {
    if (context.wants_json()) {
        // Use the document and not the Report, so that members that this program does not know are
        // kept.
        const auto document = TRY(context.client.ask("Describe"));
        Value list{Value::Object{}};
        list["generation"] = document.at("generation");
        list["gpus"] = document.at("gpus");
        list["accelerators"] = document.at("accelerators");
        print_json(context.arguments, list);
        return ExitCode::Answered;
    }
    const auto report = TRY(current_report(context.client));
    const auto text = context.arguments.shows_video
                          ? video_table(report, context.arguments.shows_all, context.screen)
                          : list_text(report, context.arguments.shows_all, context.screen);
    print(text);
    if (text.empty())
        remark(context.arguments, "this machine has no GPU");
    return ExitCode::Answered;
}

}  // namespace

Verb list_verb() {
    return {
        .name = "list",
        .overview = {{"list", "show one line for each kind of GPU"}},
        .usage = {"list [--all] [--video] [OPTION…]"},
        .about = R"(
Prints one line for each kind of GPU, starting with the default GPU, and then the accelerators that
are not GPUs. Identical GPUs, and identical partitions of a GPU, share a line. With --video, prints one line
for each video codec of each kind of GPU, and for each V4L2 codec of an SoC. The line shows the bits
of a sample and the largest sizes that can be decoded and encoded. If codecs are unknown, list prints
the reason.
)",
        .options = {all_option("print separate lines for each GPU, partition and accelerator"),
                    {.names = "--video",
                     .help = "print the video codecs that each GPU or SoC can decode and encode",
                     .take = put<&Arguments::shows_video>}},
        .run = run_list};
}

namespace {

using Accelerators = std::vector<const Accelerator*>;

/// Prints a single device as one document, or several devices as lists.
void print_documents(const Context& context,
                     const std::vector<const Gpu*>& gpus,
                     const Accelerators& accelerators) {
    // If the user named one device, the document contains only that device.
    if (gpus.size() + accelerators.size() == 1 && !context.arguments.gpus.empty())
        return print_json(context.arguments,
                          gpus.empty() ? to_value(*accelerators.front()) : to_value(*gpus.front()));
    Value document{Value::Object{}};
    document["gpus"] = Value{Value::Array{}};
    document["accelerators"] = Value{Value::Array{}};
    for (const auto* gpu : gpus)
        document["gpus"].push_back(to_value(*gpu));
    for (const auto* accelerator : accelerators)
        document["accelerators"].push_back(to_value(*accelerator));
    print_json(context.arguments, document);
}

/// The accelerator whose id, PCI address or device node is `selector`; null if there is none.
const Accelerator* accelerator_meant(const Report& report, std::string_view selector) {
    const auto address = parse_text(selector, std::type_identity<PciAddress>{});
    const auto found = std::ranges::find_if(report.accelerators, [&](const Accelerator& one) {
        return one.id == selector || (address && one.pci && one.pci->address == address) ||
               std::ranges::count(one.nodes, selector, &DeviceNode::path) > 0;
    });
    return found == report.accelerators.end() ? nullptr : &*found;
}

/// The time relative to which ages are shown: now, or the time of the capture.
WallTime time_of(const Report& report) {
    return report.source == ReportSource::Replay && report.created ? *report.created
                                                                   : SystemClock{}.wall();
}

Result<ExitCode> run_show(Context& context) {
    auto report = TRY(context.client.report());
    // The daemon's report may contain outdated power and temperature values of accelerators.
    if (context.client.is_daemon())
        engine::refresh_accelerators(RootedFiles{}, report);
    const ComputeView view{report};
    std::vector<const Gpu*> gpus;
    Accelerators accelerators;
    // If the user named no device, all devices are selected.
    if (context.arguments.gpus.empty()) {
        for (const auto& gpu : report.gpus)
            gpus.push_back(&gpu);
        for (const auto& accelerator : report.accelerators)
            accelerators.push_back(&accelerator);
    }
    for (const auto& selector : context.arguments.gpus) {
        if (const auto* accelerator = accelerator_meant(report, selector))
            accelerators.push_back(accelerator);
        else
            gpus.push_back(TRY(pick_gpu(view, selector)));
    }
    if (context.wants_json()) {
        print_documents(context, gpus, accelerators);
        return ExitCode::Answered;
    }
    const auto found = own_findings(report);
    if (!context.arguments.shows_all) {
        // If there is no decision, the screen has no line about the default choice.
        const auto choice = context.client.select("default", Value{Value::Object{}});
        print(summary_text({.gpus = gpus, .accelerators = accelerators}, report, found,
                           choice ? &*choice : nullptr, context.screen));
        return ExitCode::Answered;
    }
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        // Only the free memory of whole GPUs is read again.
        auto gpu = *gpus[i];
        if (!partition_of(gpu))
            TRY(context.client.refresh_memory(gpu));
        print((i == 0 ? "" : "\n") +
              show_text(gpu, report, found, time_of(report), context.screen));
    }
    for (const auto* accelerator : accelerators)
        print((gpus.empty() && accelerator == accelerators.front() ? "" : "\n") +
              show_text(*accelerator, found, context.screen));
    return ExitCode::Answered;
}

}  // namespace

Verb show_verb() {
    return {
        .name = "show",
        .overview = {{"show [GPU…]",
                      "show the GPUs, the default choice and the most severe problem"}},
        .usage = {"show [GPU…] [--all] [OPTION…]"},
        .about = R"(
Prints about 15 lines: the machine, the default choice, the memory, driver and backends of each kind
of GPU, and the most severe problem with a command that helps. With --all, prints everything that is
known about each GPU: hardware, driver, nodes, memory and the sources of its size, and the facts from
each API. To name an accelerator that is not a GPU, use its id, its PCI address or the path of one of
its nodes; the answer includes its power draw and temperature.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .options = {all_option("print everything that is known about each GPU"),
                    gpus_option("show only the given GPUs")},
        .run = run_show};
}

namespace {

/// The GPU with the id `id` in the document; null if there is none. The Report isn't used, because
/// it lacks members that this program does not know.
const Value* gpu_in(const Value& document, const std::string& id) {
    if (const auto* gpus = document.at("gpus").as_array())
        for (const auto& gpu : *gpus)
            if (const auto* text = gpu.at("id").as_string(); text && *text == id)
                return &gpu;
    return nullptr;
}

Result<ExitCode> run_describe(Context& context) {
    const auto document = TRY(context.client.ask("Describe"));
    if (context.arguments.gpus.empty()) {
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    const auto report = TRY(record_from<Report>(document));
    const ComputeView view{report};
    const auto* gpu = TRY(pick_gpu(view, context.arguments.gpus.front()));
    // The document does not list partitions as GPUs.
    if (partition_of(*gpu))
        print_json(context.arguments, to_value(*gpu));
    else if (const auto* found = gpu_in(document, gpu->id))
        print_json(context.arguments, *found);
    return ExitCode::Answered;
}

}  // namespace

Verb describe_verb() {
    return {.name = "describe",
            .group = VerbGroup::Advanced,
            .overview = {{"describe [GPU]", "print the report as JSON"}},
            .usage = {"describe [GPU] [OPTION…]"},
            .about = R"(
Prints the report as JSON, or only the part about one GPU.
)",
            .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu}},
            .options = {gpus_option("print only the part about this GPU")},
            .check = [](Arguments& arguments) -> Status {
                if (arguments.gpus.size() > 1)
                    return refusal("describe: name only one GPU");
                return Done{};
            },
            .run = run_describe};
}

}  // namespace gpuprobe::inline cli
