// SPDX-License-Identifier: Apache-2.0
#include "cli/open_oracle.h"

#include "cli/bus_oracle.h"
#include "cli/context.h"
#include "cli/direct_oracle.h"
#include "cli/progress.h"

namespace gpuprobe {
namespace {

Result<std::unique_ptr<Oracle>> open_direct(const Arguments& arguments) {
    ProgressLine line{arguments};
    return DirectOracle::open({.replay = arguments.replay,
                               .worker = arguments.worker,
                               .profile_folders = arguments.profile_folders,
                               .has_cache = arguments.has_cache,
                               .follows_hardware = arguments.verb == "monitor",
                               .waiting = [&line](bool waits) {
                                   waits ? line.show("asking the drivers") : line.clear();
                               }});
}

}  // namespace

Result<std::unique_ptr<Oracle>> open_oracle(const Arguments& arguments) {
    if (arguments.is_direct || arguments.replay || arguments.capture_folder)
        return open_direct(arguments);
    auto daemon = BusOracle::open(arguments.bus.value_or("system"));
    const bool may_ask_directly = !arguments.bus;
    if (daemon || !may_ask_directly || daemon.error().code != ErrorCode::Unavailable)
        return daemon;
    remark(arguments, "no daemon answers on the system bus; asking the machine directly");
    return open_direct(arguments);
}

}  // namespace gpuprobe
