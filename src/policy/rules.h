// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/version.h"
#include "knowledge/library.h"
#include "policy/truth.h"

/// AMD's target ids, for example "gfx90a" or, with features, "gfx90a:sramecc+:xnack-". Source:
/// LLVM, "User Guide for AMDGPU Backend", Target ID.

namespace gpuprobe::inline policy {

/// An AMD target id, in parts.
struct GfxTarget {
    std::string processor = {};  ///< name in lower case; a name with an X is a family
    std::map<std::string, bool> features = {};  ///< settings of xnack and sramecc
    bool operator==(const GfxTarget&) const = default;
};
/// Parses a target id: a processor ("gfx" with hexadecimal digits or X, or one of LLVM's generic
/// processors), followed by known features, each at most once and with "+" or "-". nullopt for any
/// other string.
std::optional<GfxTarget> parse_text(std::string_view text, std::type_identity<GfxTarget>);
std::string text_of(const GfxTarget& target);

/// Maps a family to its processors, as listed in the rules. In a family that isn't in the map, X
/// matches one hexadecimal digit.
using GfxFamilies = std::map<std::string, std::vector<std::string>, std::less<>>;

/// Whether code for `target` runs on `device`. The result is unknown if the code requires a feature
/// setting that the device does not report.
Truth runs_on(const GfxTarget& target, const GfxTarget& device, const GfxFamilies& families);

class Rules;
}  // namespace gpuprobe::inline policy

/// Decides whether CUDA kernels run on a device. Source: CUDA C++ Programming Guide, "Compute
/// Capabilities" and "Application Compatibility"; CUDA Compatibility, "Minor Version
/// Compatibility".
namespace gpuprobe::inline policy {

/// A device's compute capability: "8.9".
struct ComputeCapability {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    auto operator<=>(const ComputeCapability&) const = default;
    bool operator==(const ComputeCapability&) const = default;
};
/// Parses one or two digits, a dot and one digit; nullopt for anything else.
std::optional<ComputeCapability> parse_text(std::string_view text,
                                            std::type_identity<ComputeCapability>);
std::string text_of(const ComputeCapability& capability);
/// Converts a version such as "8.9" to a compute capability.
constexpr ComputeCapability capability_of(const Version& version) {
    return {.major = version.parts[0], .minor = version.parts[1]};
}

/// The target that code was compiled for: "9.0", architecture-specific "9.0a", or family-specific
/// "10.0f". A PTX target can include the PTX ISA version: "9.0@9.1".
enum class TargetSuffix { None, Specific, Family };
struct KernelTarget {
    ComputeCapability capability = {};
    TargetSuffix suffix = TargetSuffix::None;
    std::optional<Version> isa = {};  ///< PTX ISA version, if known
    bool operator==(const KernelTarget&) const = default;
};
std::optional<KernelTarget> parse_text(std::string_view text, std::type_identity<KernelTarget>);
std::string text_of(const KernelTarget& target);

/// The CUDA kernels in a build.
struct CudaKernels {
    Version toolkit = {};  ///< version of the toolkit; zero if unknown
    std::optional<std::vector<KernelTarget>> sass = {};  ///< cubins
    std::optional<std::vector<KernelTarget>> ptx = {};
    /// Whether kernels run only on exactly the capabilities for which they were compiled.
    bool exact = false;
    bool operator==(const CudaKernels&) const = default;
};

/// The properties of a device that decide which kernels run.
struct CudaDevice {
    Fact<ComputeCapability> capability = {};
    Fact<Version> cuda = {};  ///< the newest CUDA version that the device's driver supports
    /// whether the device is a Tegra; code for other devices does not always run on a Tegra
    bool is_tegra = false;
    bool operator==(const CudaDevice&) const = default;
};

/// Whether kernels run, or the reason why they do not run.
enum class KernelFit {
    Runs,
    NoCode,             ///< the build has neither a cubin nor PTX for this capability
    PtxNeedsNewerCuda,  ///< the build has only PTX, which the driver is too old to compile
    CapabilityUnknown,
    CudaUnknown,  ///< the build has only PTX, and the driver's CUDA version is unknown
    NoCuda,       ///< not a CUDA device, or the build has only PTX and there is no CUDA driver
};

/// Decides whether the build's kernels run on the device. A cubin runs on devices with the same
/// major capability and the same or a higher minor capability. PTX runs on devices with the same or
/// a higher capability if the driver supports the ISA version of the PTX or, if that version is
/// unknown, isn't older than the toolkit. A build that lists neither cubins nor PTX runs on every
/// device for which its toolkit can compile.
KernelFit fit_of(const CudaKernels& code, const CudaDevice& device, const Rules& rules);
/// True for Runs, unknown for CapabilityUnknown and CudaUnknown, false otherwise.
Truth truth_of(KernelFit fit);

/// The PTX with the oldest ISA version among all PTX that the device could run; null if the device
/// could not run any.
const KernelTarget* nearest_ptx(const CudaKernels& code, const CudaDevice& device);

/// A group of NVIDIA GPUs whose names begin with one of the prefixes.
struct NvidiaProducts {
    std::string line = {};  ///< product line: "data-center", "workstation", "geforce" or "titan"
    std::vector<std::string> names = {};  ///< prefixes of the GPUs' names, without "NVIDIA"
    /// Brands that NVML reports; the brand depends on the driver's version.
    std::vector<std::string> brands = {};
    /// Whether cuda-compat works on the GPUs of this group; null if unknown.
    std::optional<bool> runs_compat = {};
};
RECORD_MEMBERS(NvidiaProducts, line, names, brands, runs_compat)

/// Facts that apply to all manifests, from the tables in data/rules, where each row names its
/// source.
class Rules {
public:
    /// The compiled-in tables. Errors: Malformed, which always means a bug.
    static Result<Rules> builtin();
    /// The tables in use. If the tables in use are malformed, returns the compiled-in tables.
    static const Rules& current();
    /// Reads all tables. Errors: Malformed, with the wrong table and member; NotFound for a missing
    /// table.
    static Result<Rules> from(std::span<const knowledge::BuiltinDocument> documents);

    /// The tables' serial number, which increases with every change and is compared like a version.
    [[nodiscard]] const std::string& serial() const { return serial_; }
    /// The oldest Linux driver that runs code from this CUDA toolkit, including minor-version
    /// compatibility; nullopt if the table does not contain the toolkit.
    [[nodiscard]] std::optional<Version> cuda_floor(const Version& toolkit) const;
    /// The newest CUDA version that a Linux driver supports without cuda-compat; nullopt if the
    /// driver is older than the first row.
    [[nodiscard]] std::optional<Version> cuda_of_driver(const Version& driver) const;
    /// The first driver branch that can JIT-compile code from this CUDA version: the lowest branch
    /// with the same CUDA version or a newer one. nullopt if the CUDA version is newer than the
    /// table.
    [[nodiscard]] std::optional<std::uint32_t> branch_of_cuda(const Version& cuda) const;
    /// The first CUDA version whose driver compiles this PTX ISA version; nullopt if the ISA
    /// version is newer than the table.
    [[nodiscard]] std::optional<Version> cuda_of_ptx(const Version& isa) const;
    /// Whether a driver with this CUDA version compiles this PTX ISA version. Unknown if both
    /// versions are newer than the table.
    [[nodiscard]] Truth runs_ptx(const Version& cuda, const Version& isa) const;
    /// The lowest compute capability that a toolkit compiles for; nullopt if the toolkit is unknown
    /// or zero.
    [[nodiscard]] std::optional<ComputeCapability> oldest_capability(const Version& toolkit) const;
    /// The NVIDIA driver branches in the table, ascending.
    [[nodiscard]] std::vector<std::uint32_t> driver_branches() const;
    /// All known compute capabilities.
    [[nodiscard]] const std::set<ComputeCapability>& capabilities() const { return capabilities_; }
    /// Whether devices with this capability are NVIDIA systems on a chip.
    [[nodiscard]] bool is_tegra(const ComputeCapability& capability) const;
    /// The group of products that a GPU with this name belongs to; null if no row matches the name,
    /// or if the GPU is a vGPU.
    [[nodiscard]] const NvidiaProducts* products_named(std::string_view name) const;
    /// The older Intel IP whose code also runs on this IP; nullopt if there is no such IP.
    [[nodiscard]] std::optional<Version> intel_base(const Version& ip) const;
    /// The Intel IPs that run code for this IP, including this IP.
    [[nodiscard]] std::vector<Version> intel_ips_of(const Version& ip) const;
    /// The gfx families and their processors.
    [[nodiscard]] const GfxFamilies& gfx_families() const { return gfx_families_; }
    /// Maps other spellings of processor features to Linux's spelling.
    [[nodiscard]] const std::map<std::string, std::string, std::less<>>& cpu_aliases() const {
        return cpu_aliases_;
    }
    /// Linux's spelling of a processor feature.
    [[nodiscard]] std::string cpu_feature(std::string_view word) const;
    /// The oldest version of uv that accepts the word as a value of UV_TORCH_BACKEND; null if no
    /// version accepts it.
    [[nodiscard]] const Version* uv_with_torch_backend(std::string_view word) const {
        const auto found = uv_torch_backends_.find(word);
        return found == uv_torch_backends_.end() ? nullptr : &found->second;
    }

private:
    Status read_cuda_driver(std::string_view json);
    Status read_cuda_sm(std::string_view json);
    Status read_nvidia_products(std::string_view json);
    Status read_ptx_isa(std::string_view json);
    Status read_intel_ip(std::string_view json);
    Status read_rocm_gfx(std::string_view json);
    Status read_cpu_levels(std::string_view json);
    Status read_uv(std::string_view json);
    Status read_index(std::string_view json);

    std::string serial_ = {};
    /// Pairs of a CUDA major version and the minimum driver for this version.
    std::vector<std::pair<std::uint32_t, Version>> floors_by_major_ = {};
    /// Maps an exact toolkit version to the minimum driver, which takes precedence over the minimum
    /// for the major version.
    std::map<Version, Version> floors_by_toolkit_ = {};
    /// Maps a driver branch to the newest CUDA version that the branch supports.
    std::map<std::uint32_t, Version> cuda_by_branch_ = {};
    std::set<ComputeCapability> capabilities_ = {};
    std::set<ComputeCapability> tegra_ = {};
    /// Maps a capability to the first and, if there is one, the last toolkit that compiles for it.
    std::map<ComputeCapability, VersionRange> toolkits_ = {};
    /// Maps a PTX ISA version to the first CUDA version that compiles it.
    std::map<Version, Version> cuda_by_ptx_ = {};
    std::vector<NvidiaProducts> nvidia_products_ = {};
    /// Maps an Intel IP to the older IP whose code it also runs.
    std::map<Version, Version> intel_base_ = {};
    GfxFamilies gfx_families_ = {};
    std::map<std::string, std::string, std::less<>> cpu_aliases_ = {};
    std::map<std::string, Version, std::less<>> uv_torch_backends_ = {};
};

}  // namespace gpuprobe::inline policy
