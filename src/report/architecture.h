// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report/join.h"
#include "report/report.h"

namespace gpuprobe::inline report {

/// CUDA's compute capability as CUDA or NVML gives it; AMD's target as the KFD topology, HIP or
/// ROCm's OpenCL gives it ("gfx90a", without the features behind a colon); Intel's IP as its driver
/// gives it. What no driver has told is from the table of chips, so that an installer knows it on a
/// machine without drivers.
struct JudgedArchitecture {
    Architecture architecture = {};
    std::optional<Basis> basis = {};  ///< nullopt where nothing is known
};
JudgedArchitecture architecture_of(const Subject& subject);

}  // namespace gpuprobe::inline report
