// SPDX-License-Identifier: Apache-2.0
#include "backends/denied_node.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/files.h"

namespace gpuprobe::backends {

bool is_denied(const std::string& path, int error) {
    // EPERM can have other causes; a control group is the cause if the mode would let us in.
    return error == EPERM && ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
}

int open_for_use(const char* path) {
    return ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
}

void add_denial(const std::string& node,
                std::vector<Reason>& reasons,
                int (*open_node)(const char* path)) {
    const UniqueFd opened{open_node(node.c_str())};
    if (!opened && is_denied(node, errno))
        reasons.push_back(because("device-denied", {{"node", node}}));
}

}  // namespace gpuprobe::backends
