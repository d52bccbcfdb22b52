// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "report/facts.h"

namespace gpuprobe::inline report {

/// What one device did in a fraction of a second through one API. A figure is null where API or
/// device can't do it, and all are where the outcome is not Answered.
struct Measurement {
    Outcome outcome = Outcome::Answered;
    std::optional<std::uint64_t> memory_read = {};     ///< bytes a second
    std::optional<std::uint64_t> memory_copy = {};     ///< bytes a second, read and written
    std::optional<std::uint64_t> host_to_device = {};  ///< bytes a second
    std::optional<std::uint64_t> device_to_host = {};  ///< bytes a second
    std::optional<std::uint64_t> fp32 = {};            ///< operations a second; one FMA is two
    std::optional<std::uint64_t> fp16 = {};            ///< likewise
    std::optional<std::uint64_t> int8 = {};            ///< likewise
    std::optional<double> launch = {};                 ///< microseconds for an empty dispatch
    /// What a context takes of the device's memory before its first buffer.
    std::optional<Bytes> context = {};
    /// By the JSON key of a figure: (largest - smallest) / median of its samples.
    std::map<std::string, double> spread = {};
    std::optional<Duration> duration = {};
    std::optional<std::string> note = {};
    std::optional<WallTime> at = {};
    std::vector<Reason> reasons = {};  ///< why it failed, or why there is nothing newer
    bool operator==(const Measurement&) const = default;
};
RECORD_MEMBERS(Measurement, outcome, memory_read, memory_copy, host_to_device, device_to_host, fp32,
               fp16, int8, ("launch_usec", launch), context, spread, ("duration_usec", duration),
               note, ("at_usec", at), reasons)

/// What a probe of the stage "measure" says. Figures that are no positive finite number are null;
/// an answer without any is Failed.
Measurement measurement_from(const ProbeResult& probe);

/// One number to rank by; more is better.
///
/// It is the tokens a second of a language model of seven thousand million weights at four bits
/// each, with four tokens of prompt for each one that is made, if memory and arithmetic were all
/// that counts. A new token reads each weight once (4 GB of them with their scales), and each token
/// of the prompt takes two operations a weight:
///
///     1 / (4e9 / bandwidth + 4 * 14e9 / rate)
///
/// `bandwidth` is memory_read, memory_copy where that was not measured; `rate` the better of fp16
/// and fp32. Null where one of the two is unknown. The balance follows what limits the two phases:
/// making tokens the memory's bandwidth, reading the prompt the arithmetic.
std::optional<double> score_of(const Measurement& measurement);

}  // namespace gpuprobe::inline report
