// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/outcome.h"

/// Nodes that a device control group denies, as containers and a unit's DeviceAllow= set it up. The
/// node's mode lets us in then, and access(2) says so: only opening tells.
namespace gpuprobe::backends {

/// Opening it initialises no GPU. Source: open-gpu-kernel-modules, kernel-open/nvidia/nv.c.
constexpr const char* kNvidiaControl = "/dev/nvidiactl";

/// Whether opening `path` for reading and writing failed with `error` for that reason: EPERM, where
/// a mode that shuts us out gives EACCES. Source: Linux, security/device_cgroup.c.
bool is_denied(const std::string& path, int error);

/// Opens a node for reading and writing. Returns a descriptor, or -1 with errno set.
int open_for_use(const char* path);

/// Adds `device-denied` when `node` is denied; opens it, so it is for nodes that wake nothing, and
/// for those that a driver has just tried to open.
void add_denial(const std::string& node,
                std::vector<Reason>& reasons,
                int (*open_node)(const char* path) = open_for_use);

}  // namespace gpuprobe::backends
