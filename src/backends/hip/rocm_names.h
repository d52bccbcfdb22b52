// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/pci_address.h"

/// Conversion of the texts and numbers from ROCm's libraries into the form used in facts.
namespace gpuprobe::backends {

/// A UUID in the form "GPU-0123456789abcdef", from HSA's text ("GPU-" and 16 digits) or HIP's (only
/// the digits). nullopt for "GPU-XX", which devices without a serial number report, and for zeros.
/// Source: hsa_ext_amd.h, HSA_AMD_AGENT_INFO_UUID.
std::optional<std::string> rocm_uuid(std::string_view text);

/// The PCI address in a location: bus in bits 15 to 8, device in 7 to 3, function in 2 to 0. The
/// bits above have the number of a partition and are ignored. Source: hsa_ext_amd.h,
/// HSA_AMD_AGENT_INFO_BDFID; Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c, location_id.
PciAddress rocm_address(std::uint32_t domain, std::uint32_t location);

/// A version as text: "6.1.40092" for 60140092; nullopt for 0 and negative numbers. Source: HIP's
/// hip_version.h, HIP_VERSION.
std::optional<std::string> hip_version_text(int version);

}  // namespace gpuprobe::backends
