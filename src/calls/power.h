// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "report/report.h"

namespace gpuprobe::inline calls {

/// Whether the GPU is awake now, as the kernel says without waking it: "active", "suspended" …
/// What the report knows where the kernel can't be asked; nullopt when that is nothing.
/// Source: Documentation/ABI/testing/sysfs-devices-power, runtime_status.
std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu);

/// Whether asking a driver about this GPU would wake it.
bool is_asleep(const FileSystem& files, const Gpu& gpu);

}  // namespace gpuprobe::inline calls
