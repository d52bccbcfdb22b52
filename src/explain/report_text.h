// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"

/// Short texts about GPUs for tables and headlines.

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
/// The text that screens show for an unknown value. A dash means that no value exists.
inline constexpr std::string_view kUnknown = "?";
/// A size; "?" if it is unknown.
std::string size_or_unknown(const std::optional<Bytes>& size);
/// The name of a backend for people: "CUDA", "ROCm".
std::string backend_title(std::string_view backend);
/// The kind of a GPU, with "!" for any health except "ok".
std::string kind_title(const Gpu& gpu);

/// The backends that work, then with "?" those that have not been probed; each group in our order.
Cell backends_cell(const Gpu& gpu, const Screen& screen);
/// GPUs that a screen shows as one, because they differ only in their identity and free memory.
struct LikeGpus {
    std::vector<std::size_t> indices = {};  ///< in the report
    const Gpu* gpu = nullptr;               ///< the first of them, borrowed from the report
};
/// The GPUs of a report in groups, in the order of their first members. A GPU with
/// partitions always has its own group. `separately`: every GPU has its own group.
std::vector<LikeGpus> like_gpus(const Report& report, const Screen& screen, bool separately);
/// "8 x NVIDIA H200", or the title of a single GPU.
std::string title_of(const LikeGpus& group);
/// "pci:0000:00:06.0 …", or the id of a single GPU.
std::string id_of(const LikeGpus& group, const Screen& screen);

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
/// How a driver failed: "it crashed 2 times", "the machine went down while the driver was probed".
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
