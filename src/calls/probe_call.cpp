// SPDX-License-Identifier: Apache-2.0
#include "calls/probe_call.h"

#include "report/compute_view.h"

namespace gpuprobe::inline calls {
namespace {

constexpr std::size_t kMaxNames = 256;  // names of GPUs or APIs in one call

}  // namespace

std::optional<std::string> power_state(const FileSystem& files, const Gpu& gpu) {
    // Devices on other buses have no such file at a known path.
    if (gpu.pci && gpu.pci->address)
        if (auto status = files.line("/sys/bus/pci/devices/" + text_of(*gpu.pci->address) +
                                     "/power/runtime_status"))
            return status;
    return gpu.power.runtime_status;
}

bool is_asleep(const FileSystem& files, const Gpu& gpu) {
    const auto state = power_state(files, gpu);
    return state == "suspended" || state == "suspending";
}

std::vector<Action> needs_of(const ProbeRequest& request) {
    std::vector<Action> actions;
    if (request.allow_wake)
        actions.push_back(Action::AllowWake);
    if (request.force)
        actions.push_back(Action::MeasureInUse);
    return actions;
}

Status few_enough(std::size_t gpus, std::size_t apis) {
    if (gpus > kMaxNames || apis > kMaxNames)
        return Error{ErrorCode::InvalidRequest, "too many names"};
    return Done{};
}

Result<ProbeRequest> checked(ProbeRequest request, const Report& report, const FileSystem& files) {
    TRY(few_enough(request.gpus.size(), request.apis.size()));
    const ComputeView view{report};
    for (auto& id : request.gpus) {
        const auto* gpu = TRY(known_gpu(view, id));
        // Only GPUs that the caller named are refused; others that sleep are left out by the
        // engine.
        if (!request.allow_wake && is_asleep(files, *gpu))
            return Error{ErrorCode::WouldWake, gpu->id + ": asleep; allow-wake was not given"};
        id = gpu->id;
    }
    return request;
}

}  // namespace gpuprobe::inline calls
