// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/files.h"

namespace gpuprobe {

/// "R36" on a Jetson with Linux for Tegra 36; nullopt anywhere else.
/// Source: /etc/nv_tegra_release ("# R36 (release), REVISION: 3.0, …"), which NVIDIA's package
/// nvidia-l4t-core installs.
std::optional<std::string> jetson_release(const FileSystem& files);

}  // namespace gpuprobe
