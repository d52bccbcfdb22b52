// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// Readings of zero or more than this are errors of a driver: kept as evidence, otherwise unused.
constexpr Bytes kMaxGpuMemory = gib(4096);
/// And so are those of more than so many times the machine's own memory …
constexpr std::uint64_t kMaxTimesHost = 64;
/// … and of more than so many times what the kernel says of a GPU with memory of its own.
constexpr std::uint64_t kMaxTimesKernel = 2;

/// The hardware's reading of that source and meaning, if it is plausible.
std::optional<Bytes> reading_of(const HardwareDevice& hardware,
                                std::string_view source,
                                std::string_view what);

/// Sizes; "memory-mismatch" for each source that contradicts a better one, and "implausible" for
/// each reading that no GPU can have.
struct MemoryFindings {
    GpuMemory memory = {};
    std::vector<Reason> findings = {};
};

/// The memory of a GPU by kind.
///
/// - Discrete and virtual (`dedicated`): `physical` is the kernel's, else the first of the APIs by
///   ApiTrust::physical; `allocatable` (what a process can have) the first by its own rank, or
///   NVML's total less what it reserves; `free` the kernel's, else the first by its rank. A BAR is
///   evidence only: it says nothing about memory behind it.
/// - Integrated AMD (`carveout`): `physical` is the carve-out, `allocatable` carve-out and GTT
///   together, `free` what is free of both but of the GTT no more than the host has available.
///   KFD's banks are no carve-out: for small APUs newer kernels count the GTT there.
/// - Other integrated (`unified`): `allocatable` is what an API offers; `free` what the host has
///   available, nine tenths of it for Intel as its Vulkan driver budgets.
/// - Unknown: as dedicated, without a kind. Display-only: nothing.
///
/// `physical` is null, not zero, where all memory is the host's. OpenCL's free memory and that of
/// unprivileged i915 are never used. The order that GpuMemory promises holds for what is known.
/// Sources: docs and headers of each API; the order prefers what costs nothing and has no policy.
MemoryFindings memory_of(const Subject& subject, GpuKind kind, const Host& host, WallTime now);

}  // namespace gpuprobe::inline report
