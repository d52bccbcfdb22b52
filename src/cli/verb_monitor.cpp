// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/value_json.h"
#include "cli/report_changes.h"
#include "cli/verbs.h"
#include "explain/gpu_words.h"

namespace gpuprobe::inline cli {
namespace {

std::string local_time(WallTime at) {
    const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(at);
    return fmt::format("{:%H:%M:%S}",
                       fmt::localtime(std::chrono::system_clock::to_time_t(seconds)));
}

void print_change(const Context& context, const Change& change) {
    const auto now = SystemClock{}.wall();
    if (context.wants_json())
        print(json_line(change_document(change, now)) + "\n");
    else
        print(toned(context.screen, Tone::Faint, local_time(now)) + "  " + change_text(change) +
              "\n");
    std::fflush(stdout);
}

/// Each line is a document of its own whatever the JSON mode: a stream has no end to indent to.
Result<ExitCode> run(Context& context) {
    auto known = TRY(context.client.report());
    if (!context.wants_json())
        remark(context.arguments, fmt::format("watching {} GPU{}; Ctrl-C ends", known.gpus.size(),
                                              known.gpus.size() == 1 ? "" : "s"));
    const auto ended = context.client.watch([&context, &known] {
        auto next = context.client.report();
        if (!next)
            return;  // the daemon is leaving: watch() is about to say so
        for (const auto& change : changes_between(known, *next))
            print_change(context, change);
        known = std::move(*next);
    });
    if (!ended && ended.error().code == ErrorCode::Cancelled)
        return ExitCode::Answered;
    return ended ? Result<ExitCode>{ExitCode::Answered} : ended.error();
}

}  // namespace

Verb monitor_verb() {
    return {.name = "monitor",
            .overview = {{"monitor", "follow hot-plug and changes"}},
            .usage = {"monitor [OPTION…]"},
            .about = R"(
Prints a line when a GPU comes, goes or changes, until interrupted or the daemon leaves.
With -j each line is a JSON document.
)",
            .run = run};
}

}  // namespace gpuprobe::inline cli
