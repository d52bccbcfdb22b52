// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dotted_version.h"
#include "policy/cuda_code.h"
#include "policy/gfx.h"
#include "policy/rules.h"
#include "policy/truth.h"
#include "report/api_table.h"
#include "report/report.h"

/// What predicates ask about a machine, from its report.
namespace gpuprobe {

/// The kinds that a predicate may name. Display adapters without compute are none of them.
enum class VariantKind { Discrete, Integrated, Tegra, Virtual };
constexpr std::array<EnumName<VariantKind>, 4> names_of(VariantKind) {
    return {{{VariantKind::Discrete, "discrete"},
             {VariantKind::Integrated, "integrated"},
             {VariantKind::Tegra, "tegra"},
             {VariantKind::Virtual, "virtual"}}};
}

/// The vendors that a predicate may name; "other" is every vendor that is not among the rest.
inline constexpr std::array kVariantVendors =
    std::to_array<std::string_view>({"nvidia", "amd", "intel", "apple", "arm", "qualcomm",
                                     "imagination", "broadcom", "mthreads", "other"});

/// Sorted words, looked up by halves.
class WordSet {
public:
    WordSet() = default;
    explicit WordSet(std::vector<std::string> words);
    [[nodiscard]] bool contains(std::string_view word) const;
    bool operator==(const WordSet&) const = default;

private:
    std::vector<std::string> words_ = {};
};

/// Which of many words hold, as far as it is known.
struct WordFacts {
    WordSet yes = {};
    WordSet no = {};
    bool is_complete = false;  ///< what is in neither does not hold; otherwise nobody knows

    [[nodiscard]] Truth holds(std::string_view word) const;
    bool operator==(const WordFacts&) const = default;
};

struct HostFacts {
    std::string os = {};    ///< "linux"
    std::string arch = {};  ///< as uname -m
    Fact<std::string> libc = {};
    Fact<Version> glibc = {};  ///< absent where the C library is another
    Fact<Version> kernel = {};
    Fact<int> cpu_level = {};  ///< 1 to 4; absent where no levels are defined
    Fact<WordSet> cpu_features = {};
    Fact<WordSet> libraries = {};  ///< sonames; see library_is_listed()
    Fact<std::string> l4t = {};    ///< "R36"; absent on what is no Jetson
    Fact<Bytes> memory = {};
};

struct GpuFacts {
    std::string id = {};
    Fact<std::string> vendor = {};
    Fact<VariantKind> kind = {};
    std::array<std::optional<bool>, kApiCount> usable = {};  ///< by Api
    std::array<bool, kApiCount> verified = {};  ///< likewise: computed a checked result
    Fact<Version> driver = {};                  ///< of the vendor's own driver
    CudaDevice cuda = {};
    /// The CUDA of a compatibility package that runs above an older kernel driver.
    std::optional<Version> forward_compatible = {};
    Fact<GfxTarget> gfx = {};
    Fact<Version> intel_ip = {};
    Fact<Version> rocm = {};
    Fact<Version> vulkan_loader = {};
    Fact<Version> vulkan_api = {};
    WordFacts vulkan_features = {};
    Fact<WordSet> vulkan_extensions = {};
    Fact<Bytes> memory = {};  ///< as offered_memory()
    std::uint64_t gib = 0;    ///< rounded to whole GiB; 0 when it is not known
    bool is_discrete = false;
};

/// Whether no predicate tells them apart.
bool is_like(const GpuFacts& left, const GpuFacts& right);

struct MachineFacts {
    HostFacts host = {};
    std::vector<GpuFacts> gpus = {};  ///< best first, without display adapters, kMaxVariantGpus
    std::size_t left_out = 0;         ///< GPUs over that limit
};
constexpr std::size_t kMaxVariantGpus = 64;

/// - A fact of one vendor's API is absent on GPUs of the others; what the report has as null is
///   unknown, but for the Jetson release, which every scan looks for.
/// - The version of NVIDIA's driver is absent while another kernel driver (nouveau) is bound.
/// - CUDA's version is absent where its library or device is; where CUDA could not be asked, the
///   kernel driver's own stands in for it.
/// - A CUDA version over that of the kernel driver itself means a forward-compatibility package.
MachineFacts machine_facts(const Report& report, const Rules& rules);

}  // namespace gpuprobe
