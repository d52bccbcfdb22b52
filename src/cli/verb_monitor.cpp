// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "base/units.h"
#include "base/value.h"
#include "cli/bus_client.h"
#include "cli/report_changes.h"
#include "cli/socket_client.h"
#include "cli/terminal.h"
#include "cli/verbs.h"
#include "explain/phrase.h"
#include "explain/report_text.h"

namespace gpuprobe::inline cli {
namespace {

/// A daemon that is being upgraded returns within this time.
constexpr std::chrono::seconds kRestart{30};
constexpr std::chrono::milliseconds kBetweenCalls{250};

/// "14:03:59" in the local time zone.
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

/// Connects to the named daemon, or to the socket, or to the system bus.
Result<std::unique_ptr<Client>> open_any_daemon(const Arguments& arguments) {
    if (arguments.bus)
        return BusClient::open(*arguments.bus);
    auto daemon = SocketClient::open(arguments.socket);
    return daemon || arguments.socket ? std::move(daemon) : BusClient::open("system");
}

/// Waits for a daemon that has ended, for instance during an upgrade. Errors: Unavailable if it
/// does not return in time, Cancelled on an interrupt.
Result<std::unique_ptr<Client>> wait_for_daemon(const Arguments& arguments) {
    const auto patience = arguments.patience ? std::chrono::seconds{*arguments.patience} : kRestart;
    for (auto waited = std::chrono::milliseconds{0};; waited += kBetweenCalls) {
        auto daemon = open_any_daemon(arguments);
        if (daemon || waited >= patience)
            return daemon;
        if (!sleep_for(kBetweenCalls))
            return Error{ErrorCode::Cancelled, "interrupted"};
    }
}

/// Prints the differences between the known report and the new one.
void tell_changes(const Context& context, Client& client, Report& known) {
    auto next = client.report();
    if (!next)
        return;  // the daemon is ending; watch() will return an error
    for (const auto& change : changes_between(known, *next))
        print_change(context, change);
    known = std::move(*next);
}

/// Prints changes until the source ends for good.
Status follow(const Context& context, Report& known) {
    const bool may_come_back = context.client.info().kind == "daemon";
    auto* client = &context.client;
    std::unique_ptr<Client> again;
    for (;;) {
        auto ended = client->watch([&] { tell_changes(context, *client, known); });
        if (ended || ended.error().code != ErrorCode::Unavailable || !may_come_back)
            return ended;
        remark(context.arguments, "the daemon has ended; waiting for it to come back");
        // `again` keeps the new client alive; changes since the old one ended are printed first.
        again = TRY(wait_for_daemon(context.arguments));
        client = again.get();
        tell_changes(context, *client, known);
    }
}

/// With JSON, each line is a separate document in every mode, because a stream can't be indented as
/// a whole.
Result<ExitCode> run_monitor(Context& context) {
    auto known = TRY(context.client.report());
    if (!context.wants_json())
        remark(context.arguments, plural(known.gpus.size(), "watching {number} GPU; Ctrl-C ends it",
                                         "watching {number} GPUs; Ctrl-C ends it"));
    const auto ended = follow(context, known);
    // An interrupt is the normal end.
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
Prints a line when a GPU comes, goes or changes, until interrupted. When the daemon ends, as in an
upgrade, it is waited for: 30 seconds, or --patience. With -j each line is a JSON document.
)",
            .run = run_monitor};
}

}  // namespace gpuprobe::inline cli
