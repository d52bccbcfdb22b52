// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// Of /proc/cpuinfo: a kilobyte or two for each of thousands of processors.
constexpr Bytes kMaxCpuinfo = mib(8);

/// The processor from the text of /proc/cpuinfo.
///
/// The kernel lists a feature there only when programs can use it: it drops AVX and AVX-512 where
/// it does not save their registers (XSAVE off, `clearcpuid=`, a microcode mitigation), which CPUID
/// alone does not show. So `level` is the level "as usable by the OS" without any instruction of
/// our own, and a captured machine gives the same answer.
///
/// `cores` is the number of processors listed, that is, online.
Cpu parse_cpuinfo(std::string_view text);

/// "x86-64-v1" … "x86-64-v4"; nullopt below v1 and for other architectures.
/// Source: x86-64 psABI 1.0, section 3.1.1, table 3.1. `features` are sorted kernel names, among
/// which SSE3 is "pni" and LZCNT "abm" (arch/x86/include/asm/cpufeatures.h).
std::optional<std::string> x86_level(const std::vector<std::string>& features);

/// The number of processors in a list such as "0-3,8"; nullopt when it is none.
/// Source: Documentation/admin-guide/cputopology.rst.
std::optional<std::uint32_t> processors_in(std::string_view list);

}  // namespace gpuprobe::inline inventory
