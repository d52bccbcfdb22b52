// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"

namespace gpuprobe::inline explain {

/// Crashed, timed out or failed: something that a person should know of.
bool went_wrong(const ProbeEntry& probe);
/// "vulkan: /usr/share/…/radeon_icd.json crashed with SIGSEGV after 31 ms: enumerate".
std::string problem_sentence(const ProbeEntry& probe);
/// "vulkan: /usr/share/…/radeon_icd.json is in quarantine until 2026-11-21 19:30 UTC: it crashed".
std::string quarantine_sentence(const QuarantinedProbe& held);
/// "it crashed 2 times", "the machine went down while it was asked".
std::string harm_words(Harm harm, std::uint32_t times);
/// The last part of a driver's path; the whole where it is none, a dash when there is no driver.
std::string driver_file(const ProbeEntry& probe, const Screen& screen);
/// Exit code or signal and the probe's own note.
std::string ending(const ProbeEntry& probe);
Tone tone_of(Outcome outcome);

/// The table of `probe`.
std::string probe_table(const std::vector<ProbeEntry>& probes, const Screen& screen);
/// "7 probes: 5 answered, 2 absent".
std::string probe_summary(const std::vector<ProbeEntry>& probes);

}  // namespace gpuprobe::inline explain
