// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline explain {

/// True for probes that crashed, timed out or failed, which the user should know about.
bool went_wrong(const ProbeEntry& probe);
/// A sentence about a failed probe: "vulkan: /usr/share/…/radeon_icd.json crashed with SIGSEGV
/// after 31 ms: enumerate".
std::string problem_sentence(const ProbeEntry& probe);
/// A sentence about a driver in quarantine: "vulkan: /usr/share/…/radeon_icd.json is in quarantine
/// until 2026-11-21 19:30 UTC: it crashed".
std::string quarantine_sentence(const QuarantinedProbe& held);
/// How a driver failed: "it crashed 2 times", "the machine went down while it was asked".
std::string harm_words(Harm harm, std::uint32_t times);
/// The file name in the path of a driver; a dash without a driver.
std::string driver_file(const ProbeEntry& probe, const Screen& screen);
/// The exit code or signal, and the note of the probe.
std::string ending(const ProbeEntry& probe);
/// The tone in which tables show an outcome.
Tone tone_of(Outcome outcome);

/// The table that the command `probe` prints; "" without any probe.
std::string probe_table(const std::vector<ProbeEntry>& probes, const Screen& screen);
/// The numbers of probes by outcome: "7 probes: 5 answered, 2 absent".
std::string probe_summary(const std::vector<ProbeEntry>& probes);

}  // namespace gpuprobe::inline explain
