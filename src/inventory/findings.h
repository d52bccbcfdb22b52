// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "inventory/device_nodes.h"
#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {

/// What is wrong with a device, as far as the kernel's view alone shows it:
///
/// - `no-driver` {modalias}: nothing is bound to it
/// - `passthrough` {driver}: kept for a virtual machine
/// - `driver-mismatch` {kernel, userspace, library}: NVIDIA's module and libcuda.so.1 are of
///   different versions, as after an upgrade without a reboot; every call will fail
/// - `driver-mixed` {version, library, cuda}: beside libcuda.so.1 is a library of another version,
///   as where two packages of the driver, or a container's own and its host's, are mixed
/// - `uvm-missing` {node, module_loaded}: without it CUDA fails with code 999 where NVML works
std::vector<Reason> findings_of(const Sysfs& sysfs,
                                const DeviceNodes& nodes,
                                const Host& host,
                                const HardwareDevice& device);

/// The version that libcuda.so.1 resolves to, "580.159.04" of libcuda.so.580.159.04, and the
/// resolved path, in the first of the usual folders that has it.
struct CudaLibrary {
    std::string version = {};
    std::string path = {};
};
std::optional<CudaLibrary> installed_libcuda(const Sysfs& sysfs, const Host& host);

}  // namespace gpuprobe::inline inventory
