// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "export/formats.h"
#include "policy/fact.h"

/// The data that all formats need: a description of a machine in the limited set of words that
/// fleets use for labels.

namespace gpuprobe::inline exports {

/// A time in the format of RFC 3339, in UTC and whole seconds, such as "2026-11-20T23:06:40Z".
std::string instant_text(WallTime instant);

/// A GPU, described with words from fixed sets, so that a fleet has few labels and each label has
/// one meaning.
struct ExportedGpu {
    const Gpu* gpu = nullptr;  // borrowed from the report
    Facts facts;
    /// PCI address, such as "0000:18:00.0"; the id if the GPU isn't on PCI.
    std::string place = {};
    std::optional<std::string> model = {};  ///< the GPU's title; if the GPU has no title, its name
    std::string vendor = {};                ///< a vendor that has its own API, or "other"
    std::optional<std::string> arch = {};   ///< the result of arch_word()
    std::optional<std::string> card = {};   ///< name of the card node, such as "card1"
    /// Whether each API works; an API is missing if this is unknown.
    std::map<std::string, bool> apis = {};
    /// The target of kernels for the vendor's API, such as "sm_90", "gfx942" or "20.4.4".
    std::optional<std::string> target = {};
};

/// The facts about a host that exports and queries use.
struct ExportedHost {
    std::string arch = {};  ///< the architecture that `uname -m` prints; empty if unknown
    std::optional<std::string> libc = {};
    std::optional<Version> glibc = {};
    std::optional<std::uint32_t> cpu_level = {};  ///< level of x86-64: 3 for x86-64-v3
};
/// The host of a report.
ExportedHost exported_host(const Report& report);

/// The kind of partition, in the words that Kubernetes' device plugins use as resource names, such
/// as "mig-3g.40gb" or "cpx_nps1"; nullopt for a whole GPU. Sources: NVIDIA/k8s-device-plugin,
/// README, "MIG"; ROCm/k8s-device-plugin, README.
std::optional<std::string> partition_word(const ExportedGpu& gpu);

/// The memory of a GPU that a variant can rely on; nullopt if that memory is unknown.
std::optional<Bytes> memory_of(const ExportedGpu& gpu);

/// All GPUs that can compute, sorted by id. If there are more than kMaxVariantGpus GPUs, the GPUs
/// that are left out are recorded in `left_out`.
std::vector<ExportedGpu> exported_gpus(const ExportSubject& subject,
                                       std::vector<ExportRemark>& left_out);

/// The vendor's own API as labels and features name it, such as "cuda" for NVIDIA; empty if the
/// vendor has no such API.
std::string_view own_api(std::string_view vendor);

/// The name that compilers use for a GPU, such as "sm_90" or "gfx942". For Intel, the name is the
/// family of the graphics IP, such as "xe2"; nullopt if the name is unknown. Sources: nvcc's -arch;
/// LLVM's AMDGPU processors; drivers/gpu/drm/xe/xe_pci.c.
std::optional<std::string> arch_word(const Architecture& architecture);

/// Counts the GPUs for each word. GPUs without a word aren't counted.
template <class WordOf>
std::map<std::string, int> counted(const std::vector<ExportedGpu>& gpus, WordOf word_of) {
    std::map<std::string, int> counts;
    for (const auto& gpu : gpus)
        if (const std::optional<std::string> word = word_of(gpu))
            ++counts[*word];
    return counts;
}

/// The lowest version of an API among the GPUs on which it works; nullopt if no version is known.
std::optional<Version> least_version(const std::vector<ExportedGpu>& gpus, Api api);

/// True if `api` (a fleet word) is known to work on the GPU.
bool works_with(const ExportedGpu& gpu, std::string_view api);

/// The Vulkan version that programs can use on the GPU, which is at most the loader's version.
std::optional<Version> usable_vulkan(const ExportedGpu& gpu);

/// The GPU's device nodes that exist and whose paths begin with `start`.
std::vector<std::string> nodes_of(const Gpu& gpu, std::string_view start);

/// The verdicts about the variants of an application.
struct Verdicts {
    std::string application = {};
    /// Variants that can run, in the order for trying them.
    std::vector<std::string> supported = {};
    std::vector<std::string> unsupported = {};  ///< variants, sorted by name
    /// The variant that should be installed, if its name is valid.
    std::optional<std::string> best = {};
};

/// The verdicts about all applications, in the order of subject.answers. Applications and variants
/// whose names no orchestrator accepts are skipped and recorded in `left_out`.
std::vector<Verdicts> verdicts_of(const ExportSubject& subject,
                                  std::vector<ExportRemark>& left_out);

/// The name with each character except letters, digits and '_' replaced by '_'.
std::string identifier_of(std::string_view name);

}  // namespace gpuprobe::inline exports
