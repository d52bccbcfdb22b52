// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "inventory/sysfs.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The release of Jetson Linux, such as "R36" on a Jetson with Linux for Tegra 36; nullopt on other
/// machines. Source: /etc/nv_tegra_release ("# R36 (release), REVISION: 3.0, …"), which NVIDIA's
/// package nvidia-l4t-core installs.
std::optional<std::string> jetson_release(const FileSystem& files);

/// The version of NVIDIA's driver in a release of Jetson Linux whose modules contain no version. Up
/// to R35, the driver's version is the release's number ("35"); R36 contains the driver branch 540;
/// nullopt for later releases, whose modules contain a version. Source: nvidia-smi on an Orin with
/// R36, anduril/jetpack-nixos#371.
std::optional<std::string> driver_of_jetson(std::string_view release);

/// The loaded NVIDIA kernel module.
struct NvidiaModule {
    std::optional<std::string> version = {};  ///< the version, such as "580.159.04"
    std::optional<std::string> flavour = {};  ///< the kind of module: "open" or "proprietary"
    bool operator==(const NvidiaModule&) const = default;
};

/// Parses the content of /proc/driver/nvidia/version; the result is empty if the content has
/// another format. Source: open-gpu-kernel-modules, kernel-open/nvidia/nv-procfs.c and the NVRM
/// version string.
NvidiaModule parse_nvidia_version(std::string_view text);
/// The loaded NVIDIA module; empty if NVIDIA's module isn't loaded. The version is read from
/// /sys/module/nvidia/version or, if this file is missing, from /proc/driver/nvidia/version.
NvidiaModule nvidia_module(const Sysfs& sysfs);

/// The facts of /proc/driver/nvidia/gpus/<address>/information.
struct NvidiaInformation {
    std::optional<std::string> model = {};
    /// The UUID; missing until the GPU has been initialized once. Until the first initialization,
    /// the file contains question marks.
    std::optional<std::string> uuid = {};
    /// The minor device number in /dev/nvidia<minor>. No API uses the minor device number as an
    /// index.
    std::optional<std::uint32_t> minor = {};
    bool operator==(const NvidiaInformation&) const = default;
};
/// Parses the content of the file `information`. Values that the driver does not know yet are
/// nullopt.
NvidiaInformation parse_nvidia_information(std::string_view text);

/// Adds the model, UUID, device minor and MIG instances (/proc/driver/nvidia/capabilities) of a GPU
/// that the nvidia driver is bound to. Never reads the file `power` in the same folder, because the
/// driver then takes locks and can block.
void add_nvidia_facts(const Sysfs& sysfs, HardwareDevice& device);

}  // namespace gpuprobe::inline inventory
