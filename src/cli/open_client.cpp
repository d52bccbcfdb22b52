// SPDX-License-Identifier: Apache-2.0
#include "cli/open_client.h"

#include "cli/bus_client.h"
#include "cli/context.h"
#include "cli/direct_client.h"
#include "cli/progress.h"
#include "cli/socket_client.h"
#include "engine/consumer_folders.h"
#include "engine/knowledge_folders.h"
#include "policy/select.h"

namespace gpuprobe::inline cli {
namespace {

constexpr Duration kUsualPatience = std::chrono::seconds{5};

/// Whether the answer is the same on every machine. What is wrong with the question is for others
/// to report.
bool rests_on_profile_alone(const Arguments& arguments) {
    const bool selects = arguments.verb == "select" || arguments.verb == "env";
    const auto& select = arguments.select;
    if (!selects || arguments.bus || arguments.socket || select.request.find("gpus"))
        return false;
    const auto request = select_request_from(select.request);
    if (!request || !(request->platform || request->fake || is_switched_off(*request)))
        return false;
    const auto known = engine::consumers_in(engine::consumer_folders(arguments.profile_folders));
    const auto* profile = known.selection(select.consumer);
    return profile && rests_on_profile_alone(*profile, *request);
}

/// Names are known without a look at the machine.
bool asks_for_names(const Arguments& arguments) {
    return arguments.verb == "consumers" || arguments.verb == "products";
}

/// Who only wants an answer does not wait for a driver that hangs. Those that are about the drivers
/// themselves take the time that the daemon would.
std::optional<Duration> patience_of(const Arguments& arguments) {
    if (arguments.patience)
        return std::chrono::seconds{*arguments.patience};
    const bool is_about_drivers = arguments.verb == "probe" || arguments.verb == "bench" ||
                                  arguments.verb == "capture" || arguments.verb == "monitor";
    return is_about_drivers ? std::nullopt : std::optional<Duration>{kUsualPatience};
}

Result<std::unique_ptr<Client>> open_direct(const Arguments& arguments, bool looks) {
    ProgressLine line{arguments};
    const auto say_slow = [&](const std::string& what) {
        line.clear();
        remark(arguments, what);
    };
    return DirectClient::open(
        {.replay = arguments.replay,
         .worker = arguments.worker,
         .profile_folders = arguments.profile_folders,
         .knowledge_root = arguments.knowledge_root,
         .has_cache = arguments.has_cache,
         .patience = patience_of(arguments),
         .follows_hardware = arguments.verb == "monitor",
         .lives_on = arguments.verb == "run" || arguments.verb == "watch",
         .looks = looks,
         .waiting = [&line](bool waits) { waits ? line.show("asking the drivers") : line.clear(); },
         .slow = say_slow});
}

/// What may need an administrator's password is asked on the bus, where it can be asked for.
bool may_need_leave(const Arguments& arguments) {
    return arguments.verb == "override" || arguments.verb == "quarantine" ||
           arguments.verb == "probe" || arguments.verb == "bench";
}

Result<std::unique_ptr<Client>> open_daemon(const Arguments& arguments) {
    if (arguments.socket)
        return SocketClient::open(arguments.socket);
    if (arguments.bus)
        return BusClient::open(*arguments.bus);
    if (arguments.verb == "call")  // no bus has such methods
        return SocketClient::open({});
    if (!may_need_leave(arguments))
        if (auto daemon = SocketClient::open({}))
            return daemon;
    auto daemon = BusClient::open("system");
    if (daemon || daemon.error().code != ErrorCode::Unavailable || !may_need_leave(arguments))
        return daemon;
    auto other = SocketClient::open({});
    return other ? std::move(other) : std::move(daemon);
}

}  // namespace

Result<std::unique_ptr<Client>> open_client(const Arguments& arguments) {
    const bool looks = !rests_on_profile_alone(arguments) && !asks_for_names(arguments);
    const bool has_own_profiles = asks_for_names(arguments) && !arguments.profile_folders.empty();
    if (rests_on_profile_alone(arguments) || has_own_profiles || arguments.is_direct ||
        arguments.replay || arguments.capture_folder || arguments.bundle)
        return open_direct(arguments, looks);
    // What is said of the daemon's answer is in documents too.
    knowledge::Library::use(
        engine::knowledge_in(engine::KnowledgeFolders::below(arguments.knowledge_root)).library);
    auto daemon = open_daemon(arguments);
    const bool may_ask_directly = !arguments.bus && !arguments.socket;
    if (daemon || !may_ask_directly || daemon.error().code != ErrorCode::Unavailable)
        return daemon;
    if (looks)
        remark(arguments, "no daemon answers on the system bus; asking the machine directly");
    return open_direct(arguments, looks);
}

}  // namespace gpuprobe::inline cli
