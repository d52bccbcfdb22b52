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

/// The result of one small dispatch on one device. Each word of the output was compared.
struct Verification {
    VerificationResult result = VerificationResult::Failed;
    std::optional<std::uint64_t> words = {};        ///< number of words compared
    std::optional<std::uint64_t> wrong_words = {};  ///< number of wrong words
    std::optional<std::uint64_t> first_wrong = {};  ///< index of the first wrong word
    std::optional<std::string> note = {};
    std::optional<WallTime> at = {};
    std::vector<Reason> reasons = {};  ///< why it failed, or why it could not be repeated
    bool operator==(const Verification&) const = default;
};
RECORD_MEMBERS(
    Verification, result, words, wrong_words, first_wrong, note, ("at_usec", at), reasons)

/// Reads the answer of a "verify" probe. An invalid answer (without `check`, or with a
/// contradictory one) is Failed, because only a compared result counts.
Verification verification_from(const ProbeResult& probe);

/// The performance of one device through one API, measured in a fraction of a second. A figure is
/// null if the API or device does not support it. All are null if the outcome is not "answered".
struct Measurement {
    Outcome outcome = Outcome::Answered;
    std::optional<std::uint64_t> memory_read = {};     ///< bytes per second
    std::optional<std::uint64_t> memory_copy = {};     ///< bytes per second, read and written
    std::optional<std::uint64_t> host_to_device = {};  ///< bytes per second
    std::optional<std::uint64_t> device_to_host = {};  ///< bytes per second
    std::optional<std::uint64_t> fp32 = {};            ///< operations per second; one FMA is two
    std::optional<std::uint64_t> fp16 = {};            ///< operations per second; one FMA is two
    std::optional<std::uint64_t> int8 = {};            ///< operations per second; one FMA is two
    std::optional<double> launch = {};                 ///< microseconds for an empty dispatch
    /// Device memory that a context uses before its first buffer.
    std::optional<Bytes> context = {};
    /// (largest - smallest) / median of the samples, by the JSON key of a figure.
    std::map<std::string, double> spread = {};
    std::optional<Duration> duration = {};
    std::optional<std::string> note = {};
    std::optional<WallTime> at = {};
    std::vector<Reason> reasons = {};  ///< why it failed, or why it could not be repeated
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

/// Reads the answer of a "measure" probe. Figures that are not positive, finite numbers are null;
/// an answer without any figure is Failed.
Measurement measurement_from(const ProbeResult& probe);

/// One number to rank devices by; higher is better.
///
/// It estimates the tokens per second of a language model with seven billion weights at four bits
/// each, with four prompt tokens for each generated token, if only memory and arithmetic counted. A
/// generated token reads each weight once (4 GB including scales), and each prompt token takes two
/// operations per weight:
///
///     1 / (4e9 / bandwidth + 4 * 14e9 / rate)
///
/// `bandwidth` is memory_read, or memory_copy if that was not measured; `rate` is the better of
/// fp16 and fp32. Null if one of the two is unknown. The weighting follows the bottleneck of each
/// phase: generating tokens is limited by memory bandwidth, reading the prompt by arithmetic.
std::optional<double> score_of(const Measurement& measurement);

}  // namespace gpuprobe::inline report
