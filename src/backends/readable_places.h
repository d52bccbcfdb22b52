// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "probe/target.h"

namespace gpuprobe::backends {

/// The files and folders that a driver may read, with everything below them: where systems keep
/// libraries and drivers, the settings of drivers in /etc, /sys without the serial numbers of the
/// firmware, and /proc. All of /proc if this process `sees_only_itself` there, else its own folder
/// and the files that are about no process.
///
/// Also what this machine's linker cache, the job and the variables of this process name: the
/// folder of a manifest or library, and the tree it is installed in (install_tree()). Never a home
/// folder as a whole.
///
/// Paths may be missing or be links. What is not listed is closed: /etc/shadow, homes, /var/log,
/// other processes, other users' folders in /run.
std::vector<std::string> readable_places(const ProbeTarget& job, bool sees_only_itself);

/// The tree in which a folder of libraries or manifests is installed: "/data/rocm" for
/// "/data/rocm/lib" and for "/data/rocm/share/vulkan/icd.d". The folder itself if it has no such
/// tree, or if the tree would be a home folder, a hidden folder of a home, or a folder that the
/// whole system shares ("/var"). Empty for a path that is such a folder itself.
///
/// `folder` is absolute and has no links in it.
std::string install_tree(const std::string& folder);

}  // namespace gpuprobe::backends
