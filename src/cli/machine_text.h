// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/doctor.h"
#include "explain/screen.h"
#include "policy/decision.h"
#include "report/report.h"

/// The output of `status` and `show` about the whole machine.

namespace gpuprobe::inline cli {

/// The machine as text, on as many lines as needed, such as "Linux 6.1.0 x86_64 · glibc 2.36 · kvm
/// guest". This function is pure.
std::string machine_line(const Report& report, const Screen& screen);

/// The default choice as colored text, such as "default: CUDA on 4 x NVIDIA H200"; "" if there is
/// no decision. This function is pure.
std::string default_text(const Report& report, const Decision* choice, const Screen& screen);

/// The devices that `show` is about.
struct ShownDevices {
    std::vector<const Gpu*> gpus = {};  ///< GPUs of the report, or partitions
    std::vector<const Accelerator*> accelerators = {};
};

/// The short form of `show`: the machine, the default choice, each kind of device with its memory,
/// driver and backends, and the most severe problem with the command that fixes it. The result has
/// at most kMaxSummaryLines lines, unless a single device needs more. `found` are the doctor's
/// findings for the report. This function is pure.
inline constexpr std::size_t kMaxSummaryLines = 18;
std::string summary_text(const ShownDevices& devices,
                         const Report& report,
                         const std::vector<Finding>& found,
                         const Decision* choice,
                         const Screen& screen);

}  // namespace gpuprobe::inline cli
