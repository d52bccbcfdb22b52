// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace gpuprobe::inline inventory {

/// The kind of container in which this process runs, by the name that the container manager uses
/// for itself, such as "docker", "podman", "lxc", "systemd-nspawn" or "kubernetes";
/// "container-other" if the manager is unknown; nullopt outside a container.
///
/// The following sources are checked in this order: /run/host/container-manager and
/// /run/systemd/container (systemd's container interface), `container=` in the environment of
/// process 1, /run/.containerenv, /.dockerenv, /.singularity.d, and the cgroup of process 1.
std::optional<std::string> container_of(const FileSystem& files);

/// The part of a file that container_of() uses; it exists for files whose other parts could reveal
/// users and their services. nullopt if the whole file may be kept.
std::optional<std::string> container_part(std::string_view path, std::string_view content);

/// The hypervisor that this machine runs on, as systemd-detect-virt names it, such as "kvm",
/// "microsoft" or "amazon"; "vm-other" for an unknown hypervisor; nullopt on bare metal and in
/// Xen's dom0.
///
/// `cpuinfo` is the text of /proc/cpuinfo; empty if unknown. `hypervisor` is the signature in CPUID
/// leaf 0x40000000; empty if unknown. On x86, the processor's "hypervisor" flag shows whether there
/// is a hypervisor at all; DMI strings do not show this, because cloud vendors use the same strings
/// for bare-metal machines.
std::optional<std::string> virtualization_of(const FileSystem& files,
                                             std::string_view cpuinfo,
                                             std::string_view hypervisor);

/// The hypervisor's signature from the running processor; empty on bare metal. Source: Intel SDM,
/// volume 2, CPUID leaf 1 ECX bit 31; Documentation/virt/kvm/x86/cpuid.rst.
std::string running_hypervisor();

}  // namespace gpuprobe::inline inventory
