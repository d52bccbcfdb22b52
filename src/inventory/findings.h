// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/device_nodes.h"
#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {

/// Problems of a device that are visible from the kernel's view only:
///
/// - `no-driver` {modalias}: no driver is bound to it
/// - `passthrough` {driver}: reserved for a virtual machine
/// - `driver-mismatch` {kernel, userspace, library}: NVIDIA's module and libcuda.so.1 have
///   different versions, for example after an upgrade without a reboot; every call will fail
/// - `driver-mixed` {version, library, cuda}: a driver library next to libcuda.so.1 has another
///   version, for example if two packages of the driver, or a container's driver and the host's,
///   are mixed
/// - `uvm-missing` {node, module_loaded}: /dev/nvidia-uvm is missing; CUDA fails with code 999
///   although NVML works
std::vector<Reason> findings_of(const Sysfs& sysfs,
                                const DeviceNodes& nodes,
                                const Host& host,
                                const HardwareDevice& device);

/// The installed libcuda.so.1: its version, "580.159.04" for libcuda.so.580.159.04, and its
/// resolved path.
struct CudaLibrary {
    std::string version = {};
    std::string path = {};
};
/// libcuda.so.1 in the first of the usual folders that has it; nullopt if none does, or if its file
/// name has no version.
std::optional<CudaLibrary> installed_libcuda(const Sysfs& sysfs, const Host& host);

}  // namespace gpuprobe::inline inventory
