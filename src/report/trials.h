// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/facts.h"
#include "report/report.h"
#include "report/trial_results.h"

/// Trials: the results of test computations on a device, in contrast to the results of querying the
/// device. The stages "verify" and "measure" each probe one device.

namespace gpuprobe::inline report {

constexpr std::string_view kQueryStage = "query";
constexpr std::string_view kVerifyStage = "verify";
constexpr std::string_view kMeasureStage = "measure";
/// The name of the host processor among the APIs of the stages "verify" and "measure".
constexpr std::string_view kCpuApi = "cpu";
/// The key of the processor, written like the keys from device_key().
constexpr const char* kCpuDevice = "index:0";

/// A request to probe drivers.
struct ProbeRequest {
    std::vector<std::string> apis = {};  ///< names of APIs; if empty, all APIs
    bool allow_wake = false;
    /// Stage of the probe: "query", "verify" or "measure".
    std::string stage = std::string{kQueryStage};
    /// Ids of GPUs for the stages "verify" and "measure". If the list is empty, the stage runs on
    /// all GPUs, the software implementations and the processor.
    std::vector<std::string> gpus = {};
    /// Whether to measure even if a device is in use or has little free memory, or if the machine
    /// runs on battery.
    bool force = false;
};

/// The key of a device in a probe of one device: "pci:0000:00:06.0" if the API reports an address,
/// otherwise the device's index in the API's order, "index:2". nullopt if the API reports neither.
std::optional<std::string> device_key(const DeviceFacts& facts);

/// The trials of one device through one API, and the score of the device.
struct Trials {
    std::optional<Verification> verification = {};
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};
};
/// The trials of a device. `driver` and `device` must be the same as in the probe that listed the
/// device.
Trials trials_of(const std::vector<const ProbeResult*>& probes,
                 std::string_view api,
                 std::string_view driver,
                 const std::optional<std::string>& device);

/// Adds the trials to a backend of the API. A backend that computed wrong results isn't usable and
/// gets the reason `miscomputed`. If the test computation did not finish normally, the verdict does
/// not change, but the reason `not-computing` {api, result, note} is added.
void add_trials(const Trials& trials, std::string_view api, BackendView& view);

/// Peak rates of a GPU, computed from the clocks and widths that its driver reports.
struct PeakRates {
    std::optional<std::uint64_t> memory = {};  ///< bytes per second that are read or written
    std::optional<std::uint64_t> fp32 = {};    ///< operations per second; one FMA counts as two
    bool operator==(const PeakRates&) const = default;
};

/// Peak rates of NVIDIA GPUs, from CUDA's facts: two transfers per memory clock over the width of
/// the bus, and one FMA per clock and core. Null if a fact is missing or the compute capability is
/// not in the table. Other vendors' drivers do not report the width of the bus, or count clocks
/// differently.
///
/// Sources: CUDA C++ Programming Guide, "Throughput of Native Arithmetic Instructions" (32-bit
/// floating-point add, multiply, multiply-add); CUDA samples, deviceQuery (2 * clock * width / 8).
PeakRates peak_rates_of(const Gpu& gpu);

}  // namespace gpuprobe::inline report
