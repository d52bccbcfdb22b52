// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "calls/methods.h"
#include "report/report.h"
#include "report/trials.h"

namespace gpuprobe::inline calls {

/// Whether the GPU is awake now, as the kernel says without waking it: "active", "suspended" …
/// What the report knows where the kernel can't be asked; nullopt when that is nothing.
/// Source: Documentation/ABI/testing/sysfs-devices-power, runtime_status.
std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu);

/// Whether asking a driver about this GPU would wake it.
bool is_asleep(const FileSystem& files, const Gpu& gpu);

/// What callers need leave for.
std::vector<Action> needs_of(const ProbeRequest& request);

/// Errors: InvalidRequest for more names than one call may have.
Status few_enough(std::size_t gpus, std::size_t apis);

/// The request with its GPUs spelled as the report does. Errors: InvalidRequest for too many names,
/// UnknownDevice, WouldWake.
Result<ProbeRequest> checked(ProbeRequest request, const Report& report, const FileSystem& files);

}  // namespace gpuprobe::inline calls
