// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/subject.h"
#include "policy/fact.h"

namespace gpuprobe::inline exports {

/// One GPU in closed vocabularies, so that a fleet has few labels and each means one thing.
struct ExportedGpu {
    const Gpu* gpu = nullptr;  // borrowed from the report
    Facts facts;
    std::string place = {};                 ///< "0000:18:00.0"; off PCI the id
    std::optional<std::string> model = {};  ///< its title; of a GPU without one its ids
    std::string vendor = {};                ///< one with an API of its own, or other
    std::optional<std::string> arch = {};   ///< see arch_word()
    std::optional<std::string> card = {};   ///< "card1"
    std::map<std::string, bool> apis = {};  ///< whether each works, of those that are known
    /// What code is compiled for under the vendor's own API: "sm_90", "gfx942", "20.4.4".
    std::optional<std::string> target = {};
};

/// What a fleet asks of a host.
struct ExportedHost {
    std::string arch = {};  ///< as uname -m; empty when it is not known
    std::optional<std::string> libc = {};
    std::optional<Version> glibc = {};
    std::optional<std::uint32_t> cpu_level = {};  ///< of x86-64-v3 the 3
};
ExportedHost exported_host(const Report& report);

/// The kind of unit that this is, as Kubernetes' device plugins name the resource: "mig-3g.40gb",
/// "mig-1g.10gb.me", "cpx_nps1"; nullopt for a whole GPU. Sources: NVIDIA/k8s-device-plugin,
/// README, "MIG"; ROCm/k8s-device-plugin, README.
std::optional<std::string> unit_word(const ExportedGpu& gpu);

/// Bytes that a build may count on.
std::optional<Bytes> memory_of(const ExportedGpu& gpu);

/// All but display adapters, sorted by id. GPUs over kMaxVariantGpus are named in `left_out`.
std::vector<ExportedGpu> exported_gpus(const ExportSubject& subject,
                                       std::vector<ExportRemark>& left_out);

/// The API that only this vendor's GPUs have; empty without one.
std::string_view own_api(std::string_view vendor);

/// The compiler's name for a GPU: "sm_90", "gfx942"; of Intel's the family of its graphics IP,
/// "xe2". Sources: nvcc's -arch; LLVM's AMDGPU processors; drivers/gpu/drm/xe/xe_pci.c.
std::optional<std::string> arch_word(const Architecture& architecture);

/// How many GPUs have a word, by word.
template <class WordOf>
std::map<std::string, int> counted(const std::vector<ExportedGpu>& gpus, WordOf word_of) {
    std::map<std::string, int> counts;
    for (const auto& gpu : gpus)
        if (const std::optional<std::string> word = word_of(gpu))
            ++counts[*word];
    return counts;
}

/// The least of a fact among the GPUs on which an API works; nullopt when none tells.
std::optional<Version> least_version(const std::vector<ExportedGpu>& gpus, Api api);

/// Whether an API is known to work on it; the word that fleets have for it.
bool works_with(const ExportedGpu& gpu, std::string_view api);

/// The version of Vulkan that programs can use on it: no more than the loader's.
std::optional<Version> usable_vulkan(const ExportedGpu& gpu);

/// Paths of the GPU's nodes that start so.
std::vector<std::string> nodes_of(const Gpu& gpu, std::string_view start);

}  // namespace gpuprobe::inline exports
