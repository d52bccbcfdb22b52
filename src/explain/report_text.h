// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"

/// Short texts about a GPU for tables and headlines.

namespace gpuprobe::inline explain {

/// The GPU's name, else its vendor and PCI ids, else its id.
std::string gpu_title(const Gpu& gpu);
/// "NVIDIA H200 (pci:0000:00:06.0)"; only the id if `report` is null or lacks the GPU. Scrubbed.
std::string named_gpu_title(const std::string& id, const Report* report);
/// The titles of several GPUs, separated by commas; nullopt for an empty list.
std::optional<std::string> named_gpu_titles(const std::vector<std::string>& ids,
                                            const Report* report);
/// "NVIDIA" for "nvidia"; the id itself for an unknown vendor.
std::string vendor_title(std::string_view vendor);
/// "nvidia 580.159.04 (open)"; a dash if no driver is bound.
std::string driver_title(const DriverInfo& driver, const Screen& screen);
/// A size; a dash if it is unknown.
std::string size_or_dash(const std::optional<Bytes>& size, const Screen& screen);
/// The kind of a GPU, with "!" for any health except "ok".
std::string kind_title(const Gpu& gpu);

/// The backends that work, then with "?" those that have not been probed; each group in our order.
Cell backends_cell(const Gpu& gpu, const Screen& screen);
/// Names of the backends that work on the GPU, in our order.
std::vector<std::string> usable_backends(const Gpu& gpu);
/// All backends except the CPU: ours in our order, then others that a GPU has, by name.
std::vector<std::string> backend_names(const Report& report);

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
