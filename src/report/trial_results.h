// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/record.h"
#include "report/facts.h"

namespace gpuprobe::inline report {

enum class VerificationResult { Verified, Miscomputed, Failed, TimedOut, Crashed, Skipped };
constexpr std::array<EnumName<VerificationResult>, 6> names_of(VerificationResult) {
    return {{{VerificationResult::Verified, "verified"},
             {VerificationResult::Miscomputed, "miscomputed"},
             {VerificationResult::Failed, "failed"},
             {VerificationResult::TimedOut, "timed-out"},
             {VerificationResult::Crashed, "crashed"},
             {VerificationResult::Skipped, "skipped"}}};
}

/// The result of one test computation on one device, in the stage "verify" or "measure". Each word
/// of the output was checked.
struct Verification {
    VerificationResult result = VerificationResult::Failed;
    std::optional<std::uint64_t> words = {};        ///< number of words that were compared
    std::optional<std::uint64_t> wrong_words = {};  ///< number of words that are wrong
    std::optional<std::uint64_t> first_wrong = {};  ///< index of the first wrong word
    std::optional<std::string> note = {};
    std::optional<WallTime> at = {};
    std::vector<Reason> reasons = {};  ///< reasons why the trial failed or could not be repeated
    bool operator==(const Verification&) const = default;
};
RECORD_MEMBERS(
    Verification, result, words, wrong_words, first_wrong, note, ("at_usec", at), reasons)

/// Reads the answer of a "verify" probe. If the answer has no `check`, or the numbers in `check`
/// contradict each other, the outcome is Failed, because only a checked result counts.
Verification verification_from(const ProbeResult& probe);
/// Takes the result of the test computation with which a "measure" probe begins out of its result,
/// as the result of a "verify" probe. Returns nullopt if the computation failed, or if the worker
/// ended without an answer. The measurement itself may have failed.
std::optional<ProbeResult> take_check(ProbeResult& probe);

/// The performance of one device through one API, measured in a fraction of a second. A figure is
/// null if the API or the device does not support that measurement. All figures are null if the
/// outcome is not "answered".
struct Measurement {
    Outcome outcome = Outcome::Answered;
    /// Read bandwidth of the memory, in bytes per second.
    std::optional<std::uint64_t> memory_read = {};
    /// Copy bandwidth, counting reads and writes, in bytes per second.
    std::optional<std::uint64_t> memory_copy = {};
    /// Transfer rate to the device, in bytes per second.
    std::optional<std::uint64_t> host_to_device = {};
    /// Transfer rate from the device, in bytes per second.
    std::optional<std::uint64_t> device_to_host = {};
    /// Arithmetic operations per second; an FMA counts as two.
    std::optional<std::uint64_t> fp32 = {};
    /// Arithmetic operations per second; an FMA counts as two.
    std::optional<std::uint64_t> fp16 = {};
    /// Arithmetic operations per second; an FMA counts as two.
    std::optional<std::uint64_t> int8 = {};
    std::optional<double> launch = {};  ///< microseconds that an empty test computation takes
    /// Device memory that a context uses before the first buffer is allocated.
    std::optional<Bytes> context = {};
    /// Maps the JSON key of each figure to the spread of its samples: (largest - smallest) /
    /// median.
    std::map<std::string, double> spread = {};
    std::optional<Duration> duration = {};
    std::optional<std::string> note = {};
    std::optional<WallTime> at = {};
    std::vector<Reason> reasons = {};  ///< reasons why the trial failed or could not be repeated
    bool operator==(const Measurement&) const = default;
};
RECORD_MEMBERS(Measurement,
               outcome,
               memory_read,
               memory_copy,
               host_to_device,
               device_to_host,
               fp32,
               fp16,
               int8,
               ("launch_usec", launch),
               context,
               spread,
               ("duration_usec", duration),
               note,
               ("at_usec", at),
               reasons)

/// Reads the answer of a "measure" probe. Figures that aren't positive, finite numbers become
/// null. If no figure is left, the outcome is Failed.
Measurement measurement_from(const ProbeResult& probe);

/// One number for ranking devices; a higher number is better.
///
/// The number estimates the tokens per second of a language model that has seven billion weights of
/// four bits each and reads four prompt tokens for each generated token, if only memory and
/// arithmetic limited the speed. A generated token reads each weight once (4 GB including scales),
/// and each prompt token takes two operations per weight:
///
///     1 / (4e9 / bandwidth + 4 * 14e9 / rate)
///
/// `bandwidth` is memory_read or, if memory_read wasn't measured, memory_copy. `rate` is the
/// better of fp16 and fp32. The result is null if `bandwidth` or `rate` is unknown. The weighting
/// follows the bottleneck of each phase: generating tokens is limited by memory bandwidth, reading
/// the prompt by arithmetic.
std::optional<double> score_of(const Measurement& measurement);

}  // namespace gpuprobe::inline report
