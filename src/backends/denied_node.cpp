// SPDX-License-Identifier: Apache-2.0
#include "backends/denied_node.h"

#include <cerrno>

#include <fcntl.h>
#include <unistd.h>

#include "base/handle.h"

namespace gpuprobe {

bool is_denied(const std::string& path, int error) {
    return error == EPERM && ::faccessat(AT_FDCWD, path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
}

void add_denial(const std::string& node, std::vector<Reason>& reasons) {
    const UniqueFd opened{::open(node.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK)};
    if (!opened && is_denied(node, errno))
        reasons.push_back(because("device-denied", {{"node", node}}));
}

}  // namespace gpuprobe
