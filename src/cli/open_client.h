// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cli/arguments.h"
#include "cli/client.h"

namespace gpuprobe {

/// Whoever the arguments ask: a capture, this process, the daemon on the named bus; and without a
/// word the daemon on the system bus, or this process when none answers, with a remark. A selection
/// that is the same on every machine is answered here unless a bus is named: nothing is probed.
/// Errors: those of BusClient and DirectClient.
Result<std::unique_ptr<Client>> open_client(const Arguments& arguments);

}  // namespace gpuprobe
