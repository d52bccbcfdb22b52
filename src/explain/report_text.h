// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/screen.h"
#include "report/report.h"

/// Short descriptions of GPUs for tables and headlines.

namespace gpuprobe::inline explain {

/// The GPU's name; if the name is unknown, the GPU's vendor and PCI ids; if these are unknown, its
/// id.
std::string gpu_title(const Gpu& gpu);
/// The name and id of a GPU, such as "NVIDIA H200 (pci:0000:00:06.0)"; only the id if `report` is
/// null or does not contain the GPU. The text is scrubbed.
std::string named_gpu_title(const std::string& id, const Report* report);
/// The titles of several GPUs, separated by commas; nullopt for an empty list. GPUs with the same
/// name are listed once, as in "4 x NVIDIA H200 (pci:0000:00:06.0 …)". If the machine has more GPUs
/// with this name, all ids are listed.
std::optional<std::string> named_gpu_titles(const std::vector<std::string>& ids,
                                            const Report* report,
                                            const Screen& screen);
/// The first of several scrubbed ids, as in "pci:0000:00:06.0 and 3 more"; if there is only one id,
/// that id.
std::string first_and_more(const std::vector<std::string>& ids);
/// The accelerator's name. If the name is unknown, or is only a number such as "1022:17f0", the
/// vendor and the kind, such as "AMD NPU".
std::string accelerator_title(const Accelerator& accelerator);
/// The vendor's name, such as "NVIDIA" for "nvidia"; an unknown vendor's id is returned unchanged.
std::string vendor_title(std::string_view vendor);
/// The bound driver, such as "nvidia 580.159.04 (open)"; a dash if no driver is bound.
std::string driver_title(const DriverInfo& driver, const Screen& screen);
/// The text that screens show for an unknown value. A dash means that no value exists.
inline constexpr std::string_view kUnknown = "?";
/// The size as text; "?" if the size is unknown.
std::string size_or_unknown(const std::optional<Bytes>& size);
/// The name of a backend for users, such as "CUDA" or "ROCm".
std::string backend_title(std::string_view backend);
/// The kind of a GPU, followed by "!" unless the GPU's health is "ok".
std::string kind_title(const Gpu& gpu);

/// The backends that work, followed by the backends that have not been probed, which are marked
/// with "?". Each group is in the order of backend_names().
Cell backends_cell(const Gpu& gpu, const Screen& screen);
/// GPUs that a screen shows in one row, because they differ only in their identity and free memory.
struct LikeGpus {
    std::vector<std::size_t> indices = {};  ///< indices of the GPUs in the report
    const Gpu* gpu = nullptr;  ///< the first GPU in the group, borrowed from the report
};
/// The groups of a report's GPUs, in the order of their first GPUs. A GPU with partitions is always
/// the only GPU in its group; partitions of a ComputeView are grouped as GPUs. If `separately` is
/// true, each group contains one GPU.
std::vector<LikeGpus> like_gpus(const Report& report, const Screen& screen, bool separately);
/// The group's title, such as "8 x NVIDIA H200", or the title of a single GPU.
std::string title_of(const LikeGpus& group);
/// The first id of a group, as in "pci:0000:00:06.0 …", or the id of a single GPU.
std::string id_of(const LikeGpus& group, const Screen& screen);
/// The first of several strings, followed by "…", or the only string.
std::string first_of(std::string_view first, std::size_t number, const Screen& screen);
/// A title with a number, such as "8 x NVIDIA H200", or only the title if `number` is 1.
std::string times_title(std::size_t number, const std::string& title);
/// The indices of the GPUs in a group, such as "0-3,6".
std::string index_text(const std::vector<std::size_t>& indices);

/// Accelerators that a screen shows in one row, because they differ only in their identity and in
/// their power draw and temperature. The pointers are borrowed.
using LikeAccelerators = std::vector<const Accelerator*>;
/// The groups of accelerators, in the order of their first members.
std::vector<LikeAccelerators> like_accelerators(const LikeAccelerators& accelerators,
                                                const Screen& screen,
                                                bool separately);
/// The title and ids of a group of accelerators, in the same form as for GPUs.
std::string title_of(const LikeAccelerators& group);
std::string id_of(const LikeAccelerators& group, const Screen& screen);

/// Names of the backends that work on the GPU, in the order of backend_names().
std::vector<std::string> usable_backends(const Gpu& gpu);
/// All backends except the CPU: first the backends that gpuprobe knows, in the order of its table,
/// then other backends that a GPU has, sorted by name.
std::vector<std::string> backend_names(const Report& report);

/// True if the probe crashed, timed out or failed, so that screens should mention it.
bool went_wrong(const ProbeEntry& probe);
/// A sentence about a failed probe, such as "vulkan: /usr/share/…/radeon_icd.json crashed with
/// SIGSEGV after 31 ms: enumerate".
std::string problem_sentence(const ProbeEntry& probe);
/// A sentence about a driver in quarantine, such as "vulkan: /usr/share/…/radeon_icd.json is in
/// quarantine until 2026-11-21 19:30 UTC: it crashed".
std::string quarantine_sentence(const QuarantinedProbe& held);
/// A clause about how a driver failed, such as "it crashed 2 times" or "the machine went down while
/// the driver was probed".
std::string harm_words(Harm harm, std::uint32_t times);
/// The file name in the path of a driver; a dash if there is no driver.
std::string driver_file(const ProbeEntry& probe, const Screen& screen);
/// The exit code of the worker, or the signal that ended it, and the note of the probe.
std::string ending(const ProbeEntry& probe);
/// The tone that tables use for an outcome.
Tone tone_of(Outcome outcome);

/// The table that the command `probe` prints; "" if there was no probe.
std::string probe_table(const std::vector<ProbeEntry>& probes, const Screen& screen);
/// The number of probes with each outcome, as in "7 probes: 5 answered, 2 absent".
std::string probe_summary(const std::vector<ProbeEntry>& probes);

}  // namespace gpuprobe::inline explain
