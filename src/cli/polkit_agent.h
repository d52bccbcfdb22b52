// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace gpuprobe::inline cli {

/// Asks for a password on this terminal if polkit needs one, as systemctl does. The class runs
/// polkit's pkttyagent if it is installed. With --fallback, pkttyagent does nothing if the session
/// has another agent.
class PolkitAgent {
public:
    /// Whether this program can ask for a password and may need one: standard input and standard
    /// error are terminals, and the user isn't root.
    static bool somebody_is_there();

    /// Starts the agent and waits until it is registered or has failed. Does nothing if
    /// somebody_is_there() is false.
    PolkitAgent();
    ~PolkitAgent();
    PolkitAgent(const PolkitAgent&) = delete;
    PolkitAgent& operator=(const PolkitAgent&) = delete;

private:
    pid_t pid_ = -1;
};

}  // namespace gpuprobe::inline cli
