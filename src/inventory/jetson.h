// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/files.h"

namespace gpuprobe::inline inventory {

/// "R36" on a Jetson with Linux for Tegra 36; nullopt on other machines. Source:
/// /etc/nv_tegra_release ("# R36 (release), REVISION: 3.0, …"), which NVIDIA's package
/// nvidia-l4t-core installs.
std::optional<std::string> jetson_release(const FileSystem& files);

/// The version of NVIDIA's driver in a release, for modules that don't carry a version: up to R35
/// the drivers had the release's number ("35"), R36 has branch 540. nullopt for later releases,
/// whose modules carry a version. Source: nvidia-smi on an Orin with R36,
/// anduril/jetpack-nixos#371.
std::optional<std::string> driver_of_jetson(std::string_view release);

}  // namespace gpuprobe::inline inventory
