// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/files.h"

namespace gpuprobe::inline inventory {

/// What container this runs in, by the name its manager gives itself ("docker", "podman", "lxc",
/// "systemd-nspawn", "kubernetes" …; "container-other" when it only says that it is one); nullopt
/// outside one.
///
/// In order: /run/host/container-manager and /run/systemd/container (systemd's container
/// interface), `container=` of process 1, /run/.containerenv, /.dockerenv, the cgroup of process 1.
std::optional<std::string> container_of(const FileSystem& files);

}  // namespace gpuprobe::inline inventory
