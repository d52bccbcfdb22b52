// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "backends/driver_library.h"
#include "backends/hip/abi.h"
#include "report/pci_address.h"

namespace gpuprobe::backends {

/// Visits AMD's GPUs through ROCm. Uses the HSA runtime, which every ROCm program loads and which
/// reports the most facts, or the HIP runtime if the HSA runtime is missing. Uses no device memory.
Answer visit_rocm(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);
/// Visits the same GPUs as visit_rocm(), but only through the HIP runtime. The later stages call
/// this function, because only the HIP runtime can compile kernels.
Answer visit_hip(const ProbeTarget& target, Sink& sink, const VisitDevice& visit);

/// Visits the GPUs among the agents of a loaded HSA runtime. These devices cannot be opened for
/// computing, because HSA has no compiler; the compiler is in the HIP runtime.
Answer visit_hsa(const DynamicLibrary& library, Sink& sink, const VisitDevice& visit);

// The following functions convert texts and numbers from ROCm's libraries into the form that facts
// use.

/// A UUID in the form "GPU-0123456789abcdef", from HSA's text ("GPU-" and 16 digits) or HIP's (only
/// the digits). nullopt for "GPU-XX", which devices without a serial number report, and for zeros.
/// Source: hsa_ext_amd.h, HSA_AMD_AGENT_INFO_UUID.
std::optional<std::string> rocm_uuid(std::string_view text);

/// The PCI address in a location: bits 15 to 8 contain the bus, bits 7 to 3 the device, and bits 2
/// to 0 the function. The higher bits contain the number of a partition and are ignored. Source:
/// hsa_ext_amd.h, HSA_AMD_AGENT_INFO_BDFID; Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c,
/// location_id.
PciAddress rocm_address(std::uint32_t domain, std::uint32_t location);

/// A version as text: "6.1.40092" for 60140092; nullopt for 0 and negative numbers. Source: HIP's
/// hip_version.h, HIP_VERSION.
std::optional<std::string> hip_version_text(int version);

/// Opens a device, given by its number in the HIP runtime. hiprtc compiles hip/preamble.hip and the
/// OpenCL C kernels for the GPU. On GPUs without a dot product instruction, Kernel::Int8 cannot be
/// compiled. Refusals: `compiler-missing` without libhiprtc; `out-of-memory`, `device-lost`,
/// `api-refused`.
Attempt<std::unique_ptr<ComputeDevice>> open_hip(const DynamicLibrary& library,
                                                 const hip::Symbols& api,
                                                 hip::Device device);

/// The text of hip/preamble.hip, embedded at build time.
std::string_view hip_preamble();

}  // namespace gpuprobe::backends
