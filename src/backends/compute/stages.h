// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "backends/compute/device.h"
#include "base/files.h"
#include "base/record.h"
#include "base/units.h"
#include "probe/target.h"

namespace gpuprobe::backends {

// The following functions compute the expected results of the kernels on the host. All arithmetic
// is exact in the kernels' types, so that fused and unfused steps give the same result and no
// comparison needs a tolerance.

/// The word that Kernel::Check writes for the word `input`.
constexpr std::uint32_t checked_word(std::uint32_t input) {
    return input * 3 + 1;
}

/// The sum of the first `words` words that Kernel::Fill writes.
std::uint32_t filled_sum(std::uint64_t words, const KernelArguments& arguments);

/// Arguments that keep the results of an arithmetic kernel exact for fewer than kMaxRounds rounds.
/// `random` selects the values, so that no compiler can compute the result in advance.
KernelArguments arithmetic_arguments(Kernel kernel, std::uint32_t random);
constexpr std::uint32_t kMaxRounds = 1U << 17;

/// The word that one thread of Kernel::Fp32, Fp16 or Int8 writes. `arguments` must come from
/// arithmetic_arguments().
std::uint32_t arithmetic_word(Kernel kernel,
                              std::uint32_t thread,
                              const KernelArguments& arguments);

/// The number of operations that one thread performs in one round. A fused multiply-add counts as
/// two.
std::uint32_t operations_per_round(Kernel kernel);

enum class CheckResult { Verified, Miscomputed, Failed };
constexpr std::array<EnumName<CheckResult>, 3> names_of(CheckResult) {
    return {{{CheckResult::Verified, "verified"},
             {CheckResult::Miscomputed, "miscomputed"},
             {CheckResult::Failed, "failed"}}};
}

/// The member `check` of the device facts: the result of a kernel whose output was compared word by
/// word.
struct Check {
    CheckResult result = CheckResult::Failed;
    std::optional<std::uint32_t> words = {};  ///< number of words compared
    std::optional<std::uint32_t> wrong_words = {};
    std::optional<std::uint32_t> first_wrong = {};  ///< index of the first wrong word
    std::optional<std::string> note = {};
};
RECORD_MEMBERS(Check, result, words, wrong_words, first_wrong, note)

/// Runs Kernel::Check on the words of `input`. The number of words must be a multiple of
/// kGroupThreads. The output buffer is filled with wrong words first, so that a kernel that does
/// nothing cannot pass.
Attempt<Check> checked(ComputeDevice& device, std::span<const std::uint32_t> input);

/// Random words. If getrandom(2) fails, the words are zero, which is good enough for a check.
std::vector<std::uint32_t> random_words(std::size_t count);

// The stages of a probe, implemented once for all APIs.

/// Prefixes of ProbeTarget::device, before an address or a UUID.
constexpr std::string_view kPci = "pci:";
constexpr std::string_view kUuid = "uuid:";

/// Measures the device memory that a driver's context uses: the decrease of free memory since the
/// meter was created. Memory that other processes allocate in the meantime would also be counted,
/// so there is no result for a GPU whose free memory keeps changing. A driver may need some time to
/// return the memory of a process that has just ended; the constructor waits for that.
class ContextMeter {
public:
    /// Returns the free memory of the whole device; nullopt if unknown.
    using Free = std::function<std::optional<Bytes>()>;
    using Pause = std::function<void(std::chrono::milliseconds)>;

    /// Creates a meter that has no source of free memory. The taken() of this meter always returns
    /// nullopt.
    ContextMeter() = default;
    /// Calls `free` repeatedly, with pauses between the calls, until `free` returns the same value
    /// twice or a second has passed.
    explicit ContextMeter(Free free, const Pause& pause = sleep);

    /// The memory that the context uses; nullopt if the amount is unknown or zero.
    [[nodiscard]] std::optional<Bytes> taken() const;
    /// Whether the meter has a source of free memory, which taken() queries.
    [[nodiscard]] bool asks() const { return static_cast<bool>(free_); }

private:
    static void sleep(std::chrono::milliseconds time);

    Free free_ = {};
    std::optional<Bytes> before_ = {};
};

/// The name of the phase in which the worker queries free memory. The phase is announced, because
/// NVML may hang like any driver.
constexpr std::string_view kFreeMemoryPhase = "free-memory";

/// A meter for the GPU that a later stage uses. NVML reports the free memory of NVIDIA GPUs and MIG
/// instances; amdgpu's sysfs files report the free memory of AMD GPUs. There is no source for other
/// GPUs, because i915 and xe report free memory only to privileged processes. Create the meter
/// before the driver is loaded, because a Vulkan instance also uses memory. `files` must outlive
/// the meter. Source: Linux, Documentation/gpu/amdgpu/driver-misc.rst (mem_info_vram_total, _used).
ContextMeter context_meter_of(const FileSystem& files, const ProbeTarget& target);

/// Whether `stage` is the name of a stage, that is, "query", "verify", "measure" or
/// kProcessesStage.
bool is_stage(std::string_view stage);

/// Runs the stage that the target names. The answer is Failed with the reason `stage-not-offered`
/// if the backend lacks the stage.
Answer ask(const Backend& backend, const ProbeTarget& target, Sink& sink);

/// The query of a backend whose devices can also compute: reports the facts of every device.
template <Enumerate enumerate>
Answer query_devices(const ProbeTarget& target, Sink& sink) {
    return enumerate(target, sink, [&](const DeviceFacts& facts, const OpenDevice&) {
        sink.device(facts);
        return true;
    });
}

/// A function that runs a later stage for one device, whose facts are known. The function adds a
/// member for the stage to the facts and sends them to the sink, even if the stage fails.
using DeviceStage = std::function<Answer(DeviceFacts facts, const OpenDevice& open, Sink& sink)>;
/// Adds the member `check` to the facts. The outcome is Answered if the kernel ran, even if its
/// results are wrong.
Answer verify_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);
/// Adds the members `check`, unless the computation failed, and `measured` (compute/measure.h) to
/// the facts, without the memory that the context uses. `measured` is null if nothing could be
/// measured, or if the device computes wrong results.
Answer measure_device(DeviceFacts facts, const OpenDevice& open, Sink& sink);

/// Whether these facts belong to the target's device: the address must match "pci:0000:00:06.0",
/// the position "index:N", or the UUID "uuid:MIG-…". Any other name matches no device.
bool is_wanted(const ProbeTarget& target, const DeviceFacts& facts);

/// Runs the stage for the target's device. The answer is Absent with the reason `device-not-found`
/// if the API does not list that device, because the result of another device would be worse than
/// no result.
Answer run_stage(Enumerate enumerate,
                 const DeviceStage& stage,
                 const ProbeTarget& target,
                 Sink& sink);

}  // namespace gpuprobe::backends
