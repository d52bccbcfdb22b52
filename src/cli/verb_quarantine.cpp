// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/text.h"
#include "cli/shared_options.h"
#include "cli/verbs.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "explain/screen.h"

namespace gpuprobe::inline cli {
namespace {

/// Why a driver is in quarantine, with the note of its last probe.
std::string reason_of(const QuarantinedProbe& probe) {
    return phrase("{why}[: {note}]",
                  {{"why", harm_words(probe.why, probe.times)}, {"note", probe.note}});
}

Result<ExitCode> list_quarantines(Context& context) {
    const auto report = TRY(context.client.report());
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

/// The filter for Client::clear_quarantine().
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

Result<ExitCode> run_quarantine(Context& context) {
    const auto& arguments = context.arguments;
    if (arguments.quarantine.action == "list")
        return list_quarantines(context);
    const auto cleared = TRY(context.client.clear_quarantine(filter_of(arguments.quarantine)));
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

/// "clear" needs an API or a driver or --all, so that an incomplete command does not clear
/// everything.
Status check_quarantine(Arguments& arguments) {
    const auto& quarantine = arguments.quarantine;
    const bool names_one = quarantine.api || quarantine.driver;
    if (quarantine.action == "clear" && quarantine.is_all == names_one)
        return refusal("quarantine: clear which? Give an API, --driver, or only --all");
    return Done{};
}

}  // namespace

Verb quarantine_verb() {
    return {.name = "quarantine",
            .overview = {{"quarantine",
                          "drivers that are not asked for now; clear has them asked again"}},
            .usage = {"quarantine [list]", "quarantine clear [API] [--driver=PATH] [--all]"},
            .about = R"(
The drivers that are not asked for now because they crashed or hung twice, or because the machine
went down while they were being asked. Updating the driver ends that, and so does waiting: 10
minutes at first, then longer. 'clear' has them asked again; in the daemon it needs an
administrator.
)",
            .operands = {{.word = {.name = "ACTION", .offers = "list clear", .takes_others = false},
                          .take = put<&Arguments::quarantine, &QuarantineArguments::action>},
                         {.word = {.name = "API", .offers = api_words(), .takes_others = false},
                          .take = put<&Arguments::quarantine, &QuarantineArguments::api>}},
            .options = {{.names = "--driver",
                         .value = {.name = "PATH", .names = kFiles},
                         .help = "the one with this manifest",
                         .take = put<&Arguments::quarantine, &QuarantineArguments::driver>},
                        {.names = "--all",
                         .help = "every one",
                         .take = put<&Arguments::quarantine, &QuarantineArguments::is_all>}},
            .check = check_quarantine,
            .run = run_quarantine};
}

}  // namespace gpuprobe::inline cli
