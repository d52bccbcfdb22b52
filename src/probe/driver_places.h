// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace gpuprobe::inline probe {

/// Folders below /run that drivers need: udev's database, the sockets of NVIDIA's helper daemons,
/// and the folders in which NixOS and container toolkits keep drivers.
inline constexpr std::array kRunPlaces = {
    "/run/udev",          "/run/nvidia-persistenced", "/run/nvidia-fabricmanager", "/run/nvidia",
    "/run/opengl-driver", "/run/opengl-driver-32",    "/run/current-system",       "/run/host",
};

}  // namespace gpuprobe::inline probe
