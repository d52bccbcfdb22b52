// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/facts.h"
#include "report/measurement.h"
#include "report/report.h"
#include "report/verification.h"

/// What was found by computing, and not by asking: the stages "verify" and "measure", each a probe
/// of one device.
namespace gpuprobe::inline report {

constexpr std::string_view kQueryStage = "query";
constexpr std::string_view kVerifyStage = "verify";
constexpr std::string_view kMeasureStage = "measure";
/// The host's processor goes by this name among the APIs of those stages.
constexpr std::string_view kCpuApi = "cpu";
/// Its only device (device_key).
constexpr const char* kCpuDevice = "index:0";

/// What somebody wants to know from the drivers.
struct ProbeRequest {
    std::vector<std::string> apis = {};  ///< none: all
    bool allow_wake = false;
    std::string stage = std::string{kQueryStage};  ///< "query", "verify" or "measure"
    /// Ids; of the later stages. None: all, the software implementations and the processor.
    std::vector<std::string> gpus = {};
    /// Measure also what is in use, has little memory left or runs on battery.
    bool force = false;
};

/// How a probe of one device names it: "pci:0000:00:06.0" where the API gives an address, else
/// "index:2", its place in the API's own order. nullopt where the API gives neither.
std::optional<std::string> device_key(const DeviceFacts& facts);

/// What is known of one device of one API, and how fast it is.
struct Trials {
    std::optional<Verification> verification = {};
    std::optional<Measurement> measurement = {};
    std::optional<double> score = {};
};
/// `driver` and `device` as the probe that listed the device has them.
Trials trials_of(const std::vector<const ProbeResult*>& probes,
                 std::string_view api,
                 std::string_view driver,
                 const std::optional<std::string>& device);

/// Puts them into what the API's backend is known by. A backend that computed something wrong is
/// not usable, with the reason `miscomputed`; one whose dispatch did not end well stays what it
/// was, with the reason `not-computing` {api, result, note}.
void add_trials(const Trials& trials, std::string_view api, BackendView& view);

}  // namespace gpuprobe::inline report
