// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

namespace gpuprobe::inline cli {

/// Asks for passwords on this terminal while polkit wants one, as systemctl does: with polkit's own
/// pkttyagent, where it is installed, and where no other agent of the session does.
class PolkitAgent {
public:
    /// Whether somebody sits at this program's terminal who is not root. Root is never asked.
    static bool somebody_is_there();

    /// Starts it and waits until it can be asked, or has given up. Nothing when nobody is there.
    PolkitAgent();
    ~PolkitAgent();
    PolkitAgent(const PolkitAgent&) = delete;
    PolkitAgent& operator=(const PolkitAgent&) = delete;

private:
    pid_t pid_ = -1;
};

}  // namespace gpuprobe::inline cli
