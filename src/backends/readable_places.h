// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "probe/target.h"

namespace gpuprobe::backends {

/// The files and folders that a driver may read, including everything below them: the folders in
/// which systems keep libraries and drivers, the settings of drivers in /etc, /sys without the
/// serial numbers of the firmware, and /proc. All of /proc if this process `sees_only_itself`
/// there; otherwise only its own folder and the files that do not describe a process.
///
/// Also the paths named by this machine's linker cache, by the job and by the environment of this
/// process: the folder of a manifest or library, and the tree in which it is installed
/// (install_tree()). Never a whole home folder.
///
/// Paths may be missing or be links. Drivers cannot read anything else, for example /etc/shadow,
/// home folders, /var/log, other processes, and other users' folders in /run.
std::vector<std::string> readable_places(const ProbeTarget& job, bool sees_only_itself);

/// The tree in which a folder of libraries or manifests is installed: "/data/rocm" for
/// "/data/rocm/lib" and for "/data/rocm/share/vulkan/icd.d". The folder itself if it is not within
/// such a tree, or if the tree would be a home folder, a hidden folder in a home folder, or a
/// folder that the whole system shares ("/var"). Empty if `folder` itself is one of those.
///
/// `folder` is absolute and contains no links.
std::string install_tree(const std::string& folder);

}  // namespace gpuprobe::backends
