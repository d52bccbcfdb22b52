// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string_view>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "base/bytes.h"
#include "base/files.h"
#include "probe/target.h"

/// The stages of a probe, written once for every API.
namespace gpuprobe::backends {

/// How a target names its device (ProbeTarget::device), before an address or a UUID.
constexpr std::string_view kPci = "pci:";
constexpr std::string_view kUuid = "uuid:";

/// How much less of a device's memory is free than when the meter was made: what a driver's context
/// takes. Who else takes memory meanwhile is counted too, and so a GPU that others use is not
/// measured; whose process has just ended is waited for, as long as a driver may take to give its
/// memory back.
class ContextMeter {
public:
    /// Free memory of the whole device; nullopt where nobody tells.
    using Free = std::function<std::optional<Bytes>()>;
    using Pause = std::function<void(std::chrono::milliseconds)>;

    /// One that cannot tell.
    ContextMeter() = default;
    /// Asks `free` until it says the same twice, and `pause`s in between: a second at most.
    explicit ContextMeter(Free free, const Pause& pause = sleep);

    /// nullopt where nobody tells, or nothing was taken.
    [[nodiscard]] std::optional<Bytes> taken() const;
    /// Whether somebody tells, and has to be asked.
    [[nodiscard]] bool asks() const { return static_cast<bool>(free_); }

private:
    static void sleep(std::chrono::milliseconds time);

    Free free_ = {};
    std::optional<Bytes> before_ = {};
};

/// What the worker is at while it asks for free memory: NVML may hang as any driver may.
constexpr std::string_view kFreeMemoryPhase = "free-memory";

/// For the GPU that a later stage is about. NVML tells it of NVIDIA's and of a MIG instance,
/// amdgpu's files of AMD's, nobody of others: i915 and xe keep it from those without privileges. To
/// be made before the driver is loaded, since an instance of Vulkan takes memory too. `files` has
/// to live on. Source: Documentation/gpu/amdgpu/driver-misc.rst of Linux (mem_info_vram_total,
/// _used).
ContextMeter context_meter_of(const FileSystem& files, const ProbeTarget& target);

/// "query", "verify", "measure" and kProcessesStage.
bool is_stage(std::string_view stage);

/// The stage that the target names. Failed with `stage-not-offered` where the backend lacks it.
Answer ask(const Backend& backend, const ProbeTarget& target, Sink& sink);

/// The query of a backend whose devices can also compute: tells the facts of every device.
template <Enumerate enumerate>
Answer query_devices(const ProbeTarget& target, Sink& sink) {
    return enumerate(target, sink, [&](const DeviceFacts& facts, const OpenDevice&) {
        sink.device(facts);
        return true;
    });
}

/// A later stage of one device whose facts are known. The facts go to the sink with the stage's own
/// member, also when it failed.
using DeviceStage = std::function<Answer(DeviceFacts facts, const OpenDevice& open, Sink& sink)>;
/// Adds `check` (check.h). Answered when a kernel ran, whatever it computed.
Answer verify_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);
/// Adds `measured` (measure.h), null when nothing could be measured, with what the meter tells,
/// which was made before the driver was asked anything.
Answer measure_device_by(const ContextMeter& meter,
                         DeviceFacts facts,
                         const OpenDevice& open,
                         Sink& sink);
/// Without what the context takes.
Answer measure_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);

/// Whether these are the facts of the device that the target is about: "pci:0000:00:06.0" by its
/// address, "index:N" by its position, "uuid:MIG-…" by its UUID. Anything else is none.
bool is_wanted(const ProbeTarget& target, const DeviceFacts& facts);

/// The stage of the device that the target is about. Where the API's devices do not include it,
/// Absent with `device-not-found`: another device's result in its place would be worse than none.
Answer run_stage(Enumerate enumerate,
                 const DeviceStage& stage,
                 const ProbeTarget& target,
                 Sink& sink);

}  // namespace gpuprobe::backends
