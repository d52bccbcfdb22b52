// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "report/pci_address.h"

namespace gpuprobe::watch {

/// One open file of a DRM driver, as /proc/PID/fdinfo/FD tells of it.
///
/// Source: Linux, Documentation/gpu/drm-usage-stats.rst. What a driver does not tell is null.
struct DrmClient {
    std::string driver = {};
    std::optional<PciAddress> pci = {};
    /// Equal for descriptors that share one open file; unique within the device, or at all.
    std::optional<std::uint64_t> id = {};
    std::optional<Bytes> on_device = {};  ///< in memory of the device's own
    std::optional<Bytes> in_host = {};    ///< in the host's memory that the device uses
    std::optional<bool> has_worked = {};  ///< an engine has run for it
    bool operator==(const DrmClient&) const = default;
};

/// nullopt for what is no DRM file. Numbers that do not fit and units that are none are as good as
/// not told.
std::optional<DrmClient> drm_client_from(std::string_view fdinfo);

}  // namespace gpuprobe::watch
