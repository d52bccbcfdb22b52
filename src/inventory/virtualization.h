// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/files.h"

namespace gpuprobe::inline inventory {

/// What container this runs in, by the name its manager gives itself ("docker", "podman", "lxc",
/// "systemd-nspawn", "kubernetes" …; "container-other" when it only says that it is one); nullopt
/// outside one.
///
/// In order: /run/host/container-manager and /run/systemd/container (systemd's container
/// interface), `container=` of process 1, /run/.containerenv, /.dockerenv, the cgroup of process 1.
std::optional<std::string> container_of(const FileSystem& files);

/// The part of such a file that container_of() uses, which also may tell of users and their
/// services; nullopt for a file that it reads whole.
std::optional<std::string> container_part(std::string_view path, std::string_view content);

/// The hypervisor below this machine, in systemd-detect-virt's words ("kvm", "microsoft", "vmware",
/// "amazon" …, "vm-other" for one that is not known); nullopt on bare metal and in Xen's dom0.
///
/// `hypervisor` is the signature of CPUID leaf 0x40000000, or empty. On x86 the processor's
/// "hypervisor" flag decides whether there is one at all: cloud vendors write the same DMI strings
/// into their bare-metal machines.
std::optional<std::string> virtualization_of(const FileSystem& files, std::string_view hypervisor);

/// The signature that the running processor's hypervisor gives; empty when there is none.
/// Source: Intel SDM, volume 2, CPUID leaf 1 ECX bit 31; Documentation/virt/kvm/x86/cpuid.rst.
std::string running_hypervisor();

}  // namespace gpuprobe::inline inventory
