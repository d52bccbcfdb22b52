// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "report/report.h"

namespace gpuprobe::inline report {

/// Peak rates of a GPU, computed from the clocks and widths that its driver reports.
struct Promise {
    std::optional<std::uint64_t> memory = {};  ///< bytes per second, read or written
    std::optional<std::uint64_t> fp32 = {};    ///< operations per second; one FMA is two
    bool operator==(const Promise&) const = default;
};

/// Peak rates of NVIDIA GPUs, from CUDA's facts: two transfers per memory clock over the width of
/// the bus, and one FMA per clock and core. Null if a fact is missing or the compute capability is
/// not in the table. Other vendors' drivers do not report widths, or count clocks differently.
///
/// Sources: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions" (32-bit
/// floating-point add, multiply, multiply-add); CUDA samples, deviceQuery (2 * clock * width / 8).
Promise promise_of(const Gpu& gpu);

}  // namespace gpuprobe::inline report
