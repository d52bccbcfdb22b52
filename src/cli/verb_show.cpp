// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/record.h"
#include "base/text.h"
#include "base/units.h"
#include "calls/surroundings.h"
#include "cli/pick_gpu.h"
#include "cli/shared_options.h"
#include "cli/show_text.h"
#include "cli/verbs.h"
#include "engine/live_memory.h"

namespace gpuprobe::inline cli {
namespace {

using Accelerators = std::vector<const Accelerator*>;

/// Prints one device as its own document, several as lists.
void print_documents(const Context& context,
                     const std::vector<const Gpu*>& gpus,
                     const Accelerators& accelerators) {
    if (gpus.size() + accelerators.size() == 1)
        return print_json(context.arguments,
                          gpus.empty() ? to_value(*accelerators.front()) : to_value(*gpus.front()));
    Value document{Value::Object{}};
    document["gpus"] = Value{Value::Array{}};
    for (const auto* gpu : gpus)
        document["gpus"].push_back(to_value(*gpu));
    for (const auto* accelerator : accelerators)
        document["accelerators"].push_back(to_value(*accelerator));
    print_json(context.arguments, document);
}

/// The accelerator with that id, PCI address or device node; null if there is none.
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
    // The daemon's report may contain old power and temperature values of accelerators.
    if (context.client.info().kind == "daemon")
        engine::refresh_accelerators(RootedFiles{}, report);
    const ComputeView view{report};
    std::vector<const Gpu*> gpus;
    Accelerators accelerators;
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
    for (std::size_t i = 0; i < gpus.size(); ++i) {
        // Free memory is read again for whole GPUs only.
        auto gpu = *gpus[i];
        if (!unit_of(gpu))
            TRY(context.client.refresh_memory(gpu));
        print((i == 0 ? "" : "\n") +
              show_text(gpu, report, found, time_of(report), context.screen));
    }
    for (const auto* accelerator : accelerators)
        print((gpus.empty() && accelerator == accelerators.front() ? "" : "\n") +
              show_text(*accelerator, found, context.screen));
    return ExitCode::Answered;
}

Status check_show(Arguments& arguments) {
    if (arguments.gpus.empty())
        return refusal("show: which GPU? 'gpuprobectl list' shows them");
    return Done{};
}

}  // namespace

Verb show_verb() {
    return {
        .name = "show",
        .overview = {{"show GPU…", "everything known about a GPU"}},
        .usage = {"show GPU… [OPTION…]"},
        .about = R"(
Everything known about one GPU or several: hardware, driver, nodes, memory and where its size was
read, and what each API says. An accelerator that is not a GPU is named by its id, its PCI address
or the path of one of its nodes, and is shown with its power and temperature.
)",
        .operands = {{.word = {.name = "GPU", .names = kGpus}, .take = take_gpu, .repeats = true}},
        .check = check_show,
        .run = run_show};
}

}  // namespace gpuprobe::inline cli
