// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/parse.h"
#include "cli/probe_words.h"
#include "cli/sizes.h"
#include "cli/table.h"
#include "cli/verbs.h"

namespace gpuprobe {
namespace {

std::string reason_of(const QuarantinedProbe& probe) {
    return harm_words(probe) + (probe.note ? ": " + *probe.note : "");
}

Result<ExitCode> list(Context& context) {
    const auto report = TRY(context.oracle.report());
    if (context.wants_json()) {
        Value document;
        document["quarantine"] = to_value(report.quarantine);
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    Table table{{{.title = "API"},
                 {.title = "DRIVER", .may_shrink = true},
                 {.title = "UNTIL"},
                 {.title = "WHY", .may_shrink = true}}};
    for (const auto& probe : report.quarantine)
        table.add({{.text = probe.api, .tone = Tone::Strong},
                   {.text = probe.driver.empty() ? std::string{context.screen.dash()}
                                                 : scrubbed(probe.driver)},
                   {.text = time_text(probe.until)},
                   {.text = scrubbed(reason_of(probe))}});
    print(table.empty() ? "nothing is in quarantine\n" : table.text(context.screen));
    return ExitCode::Answered;
}

Value filter_of(const QuarantineArguments& arguments) {
    Value filter{Value::Object{}};
    if (arguments.api)
        filter["api"] = *arguments.api;
    if (arguments.driver)
        filter["driver"] = *arguments.driver;
    if (arguments.is_all)
        filter["all"] = true;
    return filter;
}

}  // namespace

Result<ExitCode> run_quarantine(Context& context) {
    const auto& arguments = context.arguments;
    if (arguments.quarantine.action == "list")
        return list(context);
    const auto cleared = TRY(context.oracle.clear_quarantine(filter_of(arguments.quarantine)));
    if (context.wants_json()) {
        Value document;
        document["cleared"] = to_value(cleared);
        print_json(arguments, document);
    } else if (!arguments.is_quiet) {
        print(cleared == 0 ? "there was nothing to clear\n"
                           : fmt::format("cleared: {}\n", cleared));
    }
    return ExitCode::Answered;
}

}  // namespace gpuprobe
