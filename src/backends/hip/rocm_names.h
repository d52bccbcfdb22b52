// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "report/pci_address.h"

/// Texts and numbers of ROCm's libraries as facts carry them.
namespace gpuprobe::backends {

/// "GPU-0123456789abcdef" of what HSA ("GPU-" and 16 digits) or HIP (the digits alone) say; nullopt
/// for "GPU-XX", which devices without a serial number have, and for zeros.
/// Source: hsa_ext_amd.h, HSA_AMD_AGENT_INFO_UUID.
std::optional<std::string> rocm_uuid(std::string_view text);

/// The function at a location: bus in bits 15 to 8, device in 7 to 3, function in 2 to 0. Bits
/// above hold the number of a partition. Source: hsa_ext_amd.h, HSA_AMD_AGENT_INFO_BDFID; Linux,
/// drivers/gpu/drm/amd/amdkfd/kfd_topology.c, location_id.
PciAddress rocm_address(std::uint32_t domain, std::uint32_t location);

/// "6.1.40092" of 60140092. Source: HIP's hip_version.h, HIP_VERSION. nullopt for 0 and less.
std::optional<std::string> hip_version_text(int version);

}  // namespace gpuprobe::backends
