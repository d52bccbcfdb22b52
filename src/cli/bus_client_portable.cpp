// SPDX-License-Identifier: Apache-2.0
#include "cli/bus_client.h"

namespace gpuprobe::inline cli {

Result<std::unique_ptr<Client>> BusClient::open(const std::string& where) {
    return Error{ErrorCode::Unavailable,
                 "the bus '" + where +
                     "' can't be asked: this program speaks no D-Bus. It asks the daemon's socket "
                     "(--socket) or the machine (--direct)"};
}

}  // namespace gpuprobe::inline cli
