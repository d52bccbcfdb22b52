// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The size limit for /proc/cpuinfo: a kilobyte or two for each of thousands of processors.
constexpr Bytes kMaxCpuinfo = mib(8);

/// Parses the text of /proc/cpuinfo.
///
/// The kernel lists a feature there only if programs can use it: it leaves AVX and AVX-512 out if
/// it does not save their registers (XSAVE off, `clearcpuid=`, a microcode mitigation), which CPUID
/// does not reveal. So `level` is the level that the OS supports, without executing any
/// instruction, and a captured machine gives the same result.
///
/// `cores` is the number of listed processors, which are the online ones.
Cpu parse_cpuinfo(std::string_view text);

/// The microarchitecture level, "x86-64-v1" … "x86-64-v4"; nullopt below v1 and for other
/// architectures. Source: x86-64 psABI 1.0, section 3.1.1, table 3.1. `features` are sorted kernel
/// names, which have "pni" for SSE3 and "abm" for LZCNT (arch/x86/include/asm/cpufeatures.h).
std::optional<std::string> x86_level(const std::vector<std::string>& features);

/// The number of processors in a list such as "0-3,8"; nullopt for any other text. Source:
/// Documentation/admin-guide/cputopology.rst.
std::optional<std::uint32_t> processors_in(std::string_view list);

}  // namespace gpuprobe::inline inventory
