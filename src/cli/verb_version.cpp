// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/record.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/bus_client.h"
#include "cli/socket_client.h"
#include "cli/verbs.h"

namespace gpuprobe::inline cli {
namespace {

/// "gpuprobed 0.1.0 (feature, …)".
std::string text_of_daemon(const ClientInfo& info) {
    std::string features;
    for (const auto& feature : info.features)
        features += (features.empty() ? "" : ", ") + scrubbed(feature, 64);
    return fmt::format("gpuprobed {}{}\n",
                       scrubbed(info.version.value_or("of unknown version"), 64),
                       features.empty() ? "" : " (" + features + ")");
}

Result<ExitCode> run_version(const Arguments& arguments) {
    const bool asks_daemon = !arguments.is_direct && !arguments.replay;
    std::optional<ClientInfo> daemon;
    if (asks_daemon) {
        // The bus comes first, because only there the daemon lists its features.
        auto client = arguments.socket ? SocketClient::open(arguments.socket)
                                       : BusClient::open(arguments.bus.value_or("system"));
        if (!client && !arguments.socket && !arguments.bus)
            if (auto other = SocketClient::open({}))
                client = std::move(other);
        if (client)
            daemon = (*client)->info();
        // A daemon that the user named must answer; otherwise none is needed.
        else if (arguments.bus || arguments.socket)
            return client.error();
    }
    if (arguments.json != JsonMode::Off) {
        Value document{Value::Object{}};
        document["version"] = kVersion;
        document["daemon"] = Value{};
        if (daemon) {
            document["daemon"]["version"] = to_value(daemon->version);
            document["daemon"]["features"] = to_value(daemon->features);
        }
        print_json(arguments, document);
        return ExitCode::Answered;
    }
    print(fmt::format("gpuprobectl {}\n", kVersion));
    if (daemon)
        print(text_of_daemon(*daemon));
    else if (asks_daemon)
        remark(arguments, "no daemon answers on the system bus");
    return ExitCode::Answered;
}

}  // namespace

Verb version_verb() {
    return {.name = "version",
            .overview = {{"version", "this program's version, and the daemon's"}},
            .usage = {"version [OPTION…]"},
            .about = R"(
The version of this program and of the daemon that answers.
)",
            .run_alone = run_version};
}

}  // namespace gpuprobe::inline cli
