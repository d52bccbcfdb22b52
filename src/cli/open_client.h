// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "cli/arguments.h"
#include "cli/client.h"

namespace gpuprobe::inline cli {

/// Whoever the arguments ask: a capture, this process, the daemon on the named socket or bus; and
/// without a word the daemon on its usual socket or on the system bus, or this process when none
/// answers, with a remark. A selection that is the same on every machine is answered here unless a
/// daemon is named: nothing is probed. Errors: those of the clients.
Result<std::unique_ptr<Client>> open_client(const Arguments& arguments);

}  // namespace gpuprobe::inline cli
