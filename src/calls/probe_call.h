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

/// The GPU's runtime power state, "active", "suspended" …, as the kernel reports it without waking
/// the GPU. If the kernel can't be asked: the state in the report, which may be nullopt. Source:
/// Documentation/ABI/testing/sysfs-devices-power, runtime_status.
std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu);

/// Whether probing this GPU would wake it.
bool is_asleep(const FileSystem& files, const Gpu& gpu);

/// The privileged actions of a probe request.
std::vector<Action> needs_of(const ProbeRequest& request);

/// Checks the number of names in one call. Errors: InvalidRequest if there are too many.
Status few_enough(std::size_t gpus, std::size_t apis);

/// The request with its GPUs in the report's spelling. Errors: InvalidRequest for too many names;
/// UnknownDevice; WouldWake if a GPU sleeps and may not be woken.
Result<ProbeRequest> checked(ProbeRequest request, const Report& report, const FileSystem& files);

}  // namespace gpuprobe::inline calls
