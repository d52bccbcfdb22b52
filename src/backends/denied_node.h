// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/outcome.h"

/// Device nodes that a device control group denies, as set up by containers and by DeviceAllow= in
/// a systemd unit. The file mode permits access in that case, and access(2) succeeds; only open(2)
/// fails.
namespace gpuprobe::backends {

/// NVIDIA's control node. Opening it initializes no GPU. Source: open-gpu-kernel-modules,
/// kernel-open/nvidia/nv.c.
constexpr const char* kNvidiaControl = "/dev/nvidiactl";

/// Whether opening `path` for reading and writing failed with `error` because of a device control
/// group. The control group gives EPERM; a restrictive file mode gives EACCES. Source: Linux,
/// security/device_cgroup.c.
bool is_denied(const std::string& path, int error);

/// Opens a node for reading and writing. Returns a descriptor, or -1 with errno set.
int open_for_use(const char* path);

/// Adds the reason `device-denied` if a device control group denies `node`. It opens the node, so
/// use it only for nodes that wake no device, or that a driver has just tried to open.
void add_denial(const std::string& node,
                std::vector<Reason>& reasons,
                int (*open_node)(const char* path) = open_for_use);

}  // namespace gpuprobe::backends
