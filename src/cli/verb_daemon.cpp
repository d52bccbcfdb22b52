// SPDX-License-Identifier: Apache-2.0
#include "cli/verb_daemon.h"

#include <cstdio>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/files.h"
#include "base/record.h"
#include "base/text.h"
#include "base/units.h"
#include "base/value.h"
#include "base/version.h"
#include "cli/context.h"
#include "cli/socket_client.h"
#include "cli/verb.h"
#include "explain/phrase.h"
#include "explain/report_text.h"
#include "wire/varlink.h"

namespace gpuprobe::inline cli {
namespace {

/// The GPU without the members that change all the time.
Value lasting(Gpu gpu) {
    gpu.memory.free.reset();
    gpu.memory.free_at.reset();
    gpu.memory.evidence.clear();
    for (auto& [api, view] : gpu.apis) {
        view.age.reset();
        if (auto* memory = view.device.find("memory"); memory && memory->is_object())
            (*memory)["free"] = Value{};
    }
    return to_value(gpu);
}

/// The names of the members that differ. Members that change all the time are ignored.
std::vector<std::string> differing_members(const Gpu& before, const Gpu& after) {
    const auto left = lasting(before);
    const auto right = lasting(after);
    std::vector<std::string> keys;
    for (const auto& member : *right.as_object())
        if (left.at(member.key) != member.value)
            keys.push_back(member.key);
    return keys;
}

/// A change of the report as a whole.
Change change_of(std::string event, const Report& after) {
    return {.event = std::move(event),
            .state = std::string{name_of(after.state)},
            .generation = after.generation};
}

Change gpu_change(std::string event, const Gpu& gpu, const Report& after) {
    auto change = change_of(std::move(event), after);
    change.gpu = gpu.id;
    change.name = gpu_title(gpu);
    return change;
}

}  // namespace

std::vector<Change> changes_between(const Report& before, const Report& after) {
    std::vector<Change> changes;
    for (const auto& gpu : before.gpus)
        if (!find_gpu(after, gpu.id))
            changes.push_back(gpu_change("gpu-removed", gpu, after));
    for (const auto& gpu : after.gpus) {
        const auto* old = find_gpu(before, gpu.id);
        if (!old)
            changes.push_back(gpu_change("gpu-added", gpu, after));
        auto members = old ? differing_members(*old, gpu) : std::vector<std::string>{};
        if (members.empty())
            continue;
        changes.push_back(gpu_change("gpu-changed", gpu, after));
        changes.back().changed = std::move(members);
    }
    if (before.state != after.state)
        changes.push_back(change_of("state", after));
    // The generation also changes with every change above, so a change of the generation is
    // reported only if nothing else has changed.
    else if (changes.empty() && before.generation != after.generation)
        changes.push_back(change_of("generation", after));
    return changes;
}

std::string change_text(const Change& change) {
    std::string members;
    for (const auto& member : change.changed)
        members += (members.empty() ? ": " : ", ") + member;
    if (change.gpu)
        return fmt::format("{:<12} {}  {}{}", change.event, scrubbed(*change.gpu),
                           scrubbed(change.name.value_or("")), members);
    if (change.event == "state")
        return phrase("{event} {state}, generation {generation}",
                      {{"event", fmt::format("{:<12}", change.event)},
                       {"state", std::string{change.state}},
                       {"generation", std::to_string(change.generation)}});
    return fmt::format("{:<12} {}", change.event, change.generation);
}

namespace {

/// A daemon that is restarted by an upgrade answers again within this time.
constexpr std::chrono::seconds kRestart{30};
constexpr std::chrono::milliseconds kBetweenCalls{250};

/// The time in the local time zone, such as "14:03:59".
std::string local_time(WallTime at) {
    const auto seconds = std::chrono::time_point_cast<std::chrono::seconds>(at);
    return fmt::format("{:%H:%M:%S}",
                       fmt::localtime(std::chrono::system_clock::to_time_t(seconds)));
}

/// A change as JSON: {"event","gpu","name","changed","state","generation","at_usec"}.
Value change_document(const Change& change, WallTime at) {
    Value document{Value::Object{}};
    document["event"] = change.event;
    document["gpu"] = to_value(change.gpu);
    document["name"] = to_value(change.name);
    document["changed"] = to_value(change.changed);
    document["state"] = change.state;
    document["generation"] = to_value(change.generation);
    document["at_usec"] = to_value(at);
    return document;
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

/// Waits for a daemon that has ended, for instance during an upgrade. Errors: Unavailable if the
/// daemon does not answer in time; Cancelled on an interrupt.
Result<std::unique_ptr<Client>> wait_for_daemon(const Arguments& arguments) {
    const auto patience = arguments.patience ? std::chrono::seconds{*arguments.patience} : kRestart;
    for (auto waited = std::chrono::milliseconds{0};; waited += kBetweenCalls) {
        auto daemon = SocketClient::open(arguments.socket);
        if (daemon || waited >= patience)
            return daemon;
        if (!sleep_for(kBetweenCalls))
            return Error{ErrorCode::Cancelled, "interrupted"};
    }
}

/// Prints the differences between the known report and the new report.
void print_changes(const Context& context, Client& client, Report& known) {
    auto next = client.report();
    if (!next)
        return;  // the daemon is ending; watch() will return an error
    for (const auto& change : changes_between(known, *next))
        print_change(context, change);
    known = std::move(*next);
}

/// Prints changes until the source ends for good.
Status follow(const Context& context, Report& known) {
    const bool may_come_back = context.client.is_daemon();
    auto* client = &context.client;
    std::unique_ptr<Client> again;
    for (;;) {
        auto ended = client->watch([&] { print_changes(context, *client, known); });
        if (ended || ended.error().code != ErrorCode::Unavailable || !may_come_back)
            return ended;
        remark(context.arguments, "the daemon has stopped; waiting until it starts again");
        // `again` keeps the new client alive; changes since the old client ended are printed first.
        again = TRY(wait_for_daemon(context.arguments));
        client = again.get();
        print_changes(context, *client, known);
    }
}

/// With JSON, each line is a separate document in every mode, because a stream can't be indented as
/// a whole.
Result<ExitCode> run_monitor(Context& context) {
    auto known = TRY(context.client.report());
    if (!context.wants_json())
        remark(context.arguments,
               plural(known.gpus.size(), "watching {number} GPU; press Ctrl-C to stop",
                      "watching {number} GPUs; press Ctrl-C to stop"));
    const auto ended = follow(context, known);
    // An interrupt is the normal way to end `monitor`.
    if (!ended && ended.error().code == ErrorCode::Cancelled)
        return ExitCode::Answered;
    return ended ? Result<ExitCode>{ExitCode::Answered} : ended.error();
}

}  // namespace

Verb monitor_verb() {
    return {.name = "monitor",
            .group = VerbGroup::Record,
            .overview = {{"monitor", "print GPU changes as they happen"}},
            .usage = {"monitor [OPTION…]"},
            .about = R"(
Prints a line whenever a GPU is added, removed or changed. monitor runs until you interrupt it. If the
daemon stops, for example during an upgrade, monitor waits 30 seconds, or the time from --patience,
until the daemon starts again. With -j, each line is a JSON document.
)",
            .run = run_monitor};
}

namespace {

/// Reads standard input until its end. Errors: TooLarge or Io.
Result<std::string> standard_input() {
    std::string text;
    std::string block(65536, '\0');
    for (;;) {
        const auto got = ::read(STDIN_FILENO, block.data(), block.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno_error("standard input", errno);
        if (got == 0)
            return text;
        text.append(block, 0, static_cast<std::size_t>(got));
        if (text.size() > varlink::kMaxMessage.count)
            return Error{ErrorCode::TooLarge, "standard input: larger than 2 MiB"};
    }
}

/// The parameters as a JSON object. Errors: InvalidRequest; for standard input, also TooLarge or
/// Io.
Result<Value> parameters_of(const CallArguments& arguments) {
    auto text = arguments.parameters;
    if (text == "-")
        text = TRY(standard_input());
    auto parameters = parse_json(text, varlink::kMaxMessage);
    if (!parameters)
        return Error{ErrorCode::InvalidRequest, "parameters: " + parameters.error().text};
    if (!parameters->is_object())
        return Error{ErrorCode::InvalidRequest, "parameters: " + wrong_type(*parameters, "object")};
    return parameters;
}

/// The error document. Errors of org.varlink.service have no name in their parameters, so this
/// function adds the name.
Value failure_with_name(const MethodAnswer& answer, const Value& details) {
    Value failure{Value::Object{}};
    if (details.find("name") == nullptr)
        failure["name"] = answer.error;
    for (const auto& member : *details.as_object())
        failure[member.key] = member.value;
    Value document{Value::Object{}};
    document["error"] = std::move(failure);
    return document;
}

Result<ExitCode> run_call(Context& context) {
    const auto& arguments = context.arguments.call;
    // "Select" is short for "org.gpuprobe.Select".
    const bool has_interface = arguments.method.find('.') != std::string::npos;
    const MethodCall call{
        .method = (has_interface ? "" : std::string{kInterface} + ".") + arguments.method,
        .parameters = TRY(parameters_of(arguments)),
        .uid = ::getuid()};
    const auto show = [](const MethodAnswer& earlier) {
        print(earlier.document + "\n");
        std::fflush(stdout);
    };
    const auto answer =
        TRY(context.client.call(call, arguments.wants_more ? HearAnswer{show} : HearAnswer{}));
    const auto document = TRY(parse_json(answer.document, kMaxReport));
    if (answer.error.empty()) {
        print_json(context.arguments, document);
        return ExitCode::Answered;
    }
    print_json(context.arguments, failure_with_name(answer, document));
    // If the name is unknown, the error belongs to org.varlink.service: the call was malformed.
    const auto* name = document.at("name").as_string();
    const auto code = name ? bus::error_code(*name) : std::nullopt;
    return exit_code_of(code.value_or(ErrorCode::InvalidRequest), false);
}

Status check_call(Arguments& arguments) {
    if (arguments.call.method.empty())
        return refusal("call: missing METHOD, such as 'call org.varlink.service.GetInfo'");
    return Done{};
}

}  // namespace

Verb call_verb() {
    return {.name = "call",
            .group = VerbGroup::Advanced,
            .overview = {{"call METHOD", "call a method of the daemon's socket"}},
            .usage = {"call METHOD [PARAMETERS] [--more] [OPTION…]"},
            .about = R"(
Calls a method of org.gpuprobe and prints the answer as JSON, or {"error":…} if the call failed.
PARAMETERS is a JSON object, or - to read the object from standard input. With --direct or --replay,
no daemon is used.
)",
            .operands = {{.word = {.name = "METHOD"},
                          .take = put<&Arguments::call, &CallArguments::method>},
                         {.word = {.name = "PARAMETERS"},
                          .take = put<&Arguments::call, &CallArguments::parameters>}},
            .options = {{.names = "--more",
                         .help = "also print intermediate answers, one per line, such as the "
                                 "progress of Probe or the changes from Subscribe",
                         .take = put<&Arguments::call, &CallArguments::wants_more>}},
            .check = check_call,
            .run = run_call};
}

namespace {

Result<ExitCode> run_version(const Arguments& arguments) {
    const bool asks_daemon = !arguments.is_direct && !arguments.replay;
    std::optional<Value> daemon;  // the daemon's version; null if it does not answer GetInfo
    if (asks_daemon) {
        const auto client = SocketClient::open(arguments.socket);
        if (client)
            daemon = (*client)->ask("org.varlink.service.GetInfo").value_or(Value{}).at("version");
        // If the user named a daemon, the daemon must answer; otherwise no daemon is needed.
        else if (arguments.socket)
            return client.error();
    }
    if (arguments.json != JsonMode::Off) {
        Value document{Value::Object{}};
        document["version"] = kVersion;
        document["daemon"] = Value{};
        if (daemon)
            document["daemon"]["version"] = daemon->is_string() ? *daemon : Value{};
        print_json(arguments, document);
        return ExitCode::Answered;
    }
    print(fmt::format("gpuprobectl {}\n", kVersion));
    if (daemon) {
        const auto* version = daemon->as_string();
        print(fmt::format("gpuprobed {}\n", version ? scrubbed(*version, 64) : "unknown version"));
    } else if (asks_daemon)
        remark(arguments, "the daemon does not answer on its socket");
    return ExitCode::Answered;
}

}  // namespace

Verb version_verb() {
    return {.name = "version",
            .group = VerbGroup::Advanced,
            .overview = {{"version", "show the versions of this program and the daemon"}},
            .usage = {"version [OPTION…]"},
            .about = R"(
Shows the versions of this program and of the running daemon.
)",
            .run_alone = run_version};
}

}  // namespace gpuprobe::inline cli
