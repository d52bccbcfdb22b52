// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// The largest plausible reading. Zero and larger readings are driver errors, which are kept as
/// evidence but not used.
constexpr Bytes kMaxGpuMemory = gib(4096);
/// The largest plausible reading as a multiple of the machine's memory.
constexpr std::uint64_t kMaxTimesHost = 64;
/// The largest plausible reading as a multiple of the size that the kernel reports for a GPU with
/// dedicated memory.
constexpr std::uint64_t kMaxTimesKernel = 2;

/// The hardware's reading from the given source with the given meaning, if the reading is
/// plausible.
std::optional<Bytes> reading_of(const HardwareDevice& hardware,
                                std::string_view source,
                                std::string_view what);

/// The memory sizes, and findings about the sizes: "memory-mismatch" for each source that
/// contradicts a better source, and "implausible" for each reading that no GPU can have.
struct MemoryFindings {
    GpuMemory memory = {};
    std::vector<Reason> findings = {};
};

/// The memory of a GPU by kind.
///
/// - Discrete and virtual GPUs (`dedicated`): `physical` is the kernel's value, or else the value
///   from the most trusted API by ApiTrust::physical. `allocatable` (available to a process) is the
///   value from the most trusted API by ApiTrust::allocatable, or NVML's total minus its reserved
///   memory. `free` is the kernel's value, or else the value from the most trusted API. A BAR is
///   only evidence, because the size of a BAR does not show how much memory the GPU has.
/// - Integrated AMD GPUs (`carveout`): `physical` is the carve-out, and `allocatable` is the sum of
///   carve-out and GTT. `free` is the free part of the carve-out plus the free part of the GTT,
///   which is at most the host's available memory. KFD's memory banks do not count as a carve-out,
///   because newer kernels include the GTT in the banks of small APUs.
/// - Other integrated GPUs (`unified`): `allocatable` is the value from an API. `free` is the
///   host's available memory. For Intel GPUs, `free` is nine tenths of the available memory, which
///   is the budget of Intel's Vulkan driver.
/// - GPUs of unknown kind have the sizes of `dedicated`, without a kind. Display-only GPUs have no
///   sizes.
///
/// `physical` is null, not zero, if all memory belongs to the host. Free memory from OpenCL and
/// from unprivileged i915 is never used. The known sizes are in the order that GpuMemory
/// guarantees. Sources: docs and headers of each API; the order prefers sources that cost nothing
/// and apply no policy.
MemoryFindings memory_of(const Subject& subject, GpuKind kind, const Host& host, WallTime now);

}  // namespace gpuprobe::inline report
