// SPDX-License-Identifier: Apache-2.0
#include "cli/bus_client.h"
#include "explain/phrase.h"

namespace gpuprobe::inline cli {

// The portable program is linked statically and without sd-bus.
Result<std::unique_ptr<Client>> BusClient::open(const std::string& where) {
    return Error{
        ErrorCode::Unavailable,
        phrase("the bus '{bus}' cannot be asked, as this program has no D-Bus: it asks the "
               "daemon's socket (--socket) or the machine (--direct)",
               {{"bus", where}})};
}

}  // namespace gpuprobe::inline cli
