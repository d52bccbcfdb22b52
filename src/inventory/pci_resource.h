// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace gpuprobe::inline inventory {

/// The size of the largest prefetchable 64-bit memory BAR in a `resource` file: the window through
/// which the CPU sees VRAM. Its index differs between boards, so it is never taken by index.
///
/// Only the first six lines are BARs of the function; ROM, SR-IOV and bridge windows follow.
/// Source: drivers/pci/pci-sysfs.c, resource_show(); include/linux/ioport.h for the flags.
std::optional<Bytes> largest_aperture(std::string_view resource);

}  // namespace gpuprobe::inline inventory
