// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "report/report.h"

namespace gpuprobe::inline report {

/// What a GPU could do at most by what its driver says of its clocks and widths.
struct Promise {
    std::optional<std::uint64_t> memory = {};  ///< bytes a second, read or written
    std::optional<std::uint64_t> fp32 = {};    ///< operations a second; one FMA is two
    bool operator==(const Promise&) const = default;
};

/// NVIDIA's, from the facts of CUDA: two transfers for each tick of the memory's clock over the
/// width of its bus, and one FMA for each tick and core. Null where a fact is missing or the
/// compute capability is not known here; others tell no widths, or count ticks in ways of their
/// own.
///
/// Sources: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions" (32-bit
/// floating-point add, multiply, multiply-add); CUDA samples, deviceQuery (2 * clock * width / 8).
Promise promise_of(const Gpu& gpu);

}  // namespace gpuprobe::inline report
