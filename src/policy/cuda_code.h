// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/version.h"
#include "policy/truth.h"

namespace gpuprobe::inline policy {
class Rules;
}

/// Which CUDA kernels run on which device. Source: CUDA C++ Programming Guide, "Compute
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
/// The compute capability in a version "8.9".
constexpr ComputeCapability capability_of(const Version& version) {
    return {.major = version.parts[0], .minor = version.parts[1]};
}

/// The target that code was compiled for: "9.0", architecture-specific "9.0a", or family-specific
/// "10.0f". PTX can include its ISA version, "9.0@9.1".
enum class CodeSuffix { None, Specific, Family };
struct CodeTarget {
    ComputeCapability capability = {};
    CodeSuffix suffix = CodeSuffix::None;
    std::optional<Version> isa = {};  ///< PTX ISA version, if known
    bool operator==(const CodeTarget&) const = default;
};
std::optional<CodeTarget> parse_text(std::string_view text, std::type_identity<CodeTarget>);
std::string text_of(const CodeTarget& target);

/// The CUDA kernels in a build.
struct CudaCode {
    Version toolkit = {};                              ///< zero if unknown
    std::optional<std::vector<CodeTarget>> sass = {};  ///< cubins
    std::optional<std::vector<CodeTarget>> ptx = {};
    /// Whether kernels run only on exactly the capabilities they were compiled for.
    bool exact = false;
    bool operator==(const CudaCode&) const = default;
};

/// The properties of a device that decide which kernels run.
struct CudaDevice {
    Fact<ComputeCapability> capability = {};
    Fact<Version> cuda = {};  ///< the newest CUDA version that its driver supports
    bool is_tegra = false;    ///< CUDA guarantees no compatibility between Tegra and other devices
    bool operator==(const CudaDevice&) const = default;
};

/// Whether kernels run, or why not.
enum class CodeFit {
    Runs,
    NoCode,             ///< neither cubin nor PTX for this capability
    PtxNeedsNewerCuda,  ///< only PTX, and the driver is too old to compile it
    CapabilityUnknown,
    CudaUnknown,  ///< only PTX, and the driver's CUDA version is unknown
    NoCuda,       ///< not a CUDA device, or only PTX and no CUDA driver
};

/// Decides whether the build's kernels run on the device. A cubin runs on its own major capability
/// from its minor one on. PTX runs on its capability and all later ones if the driver supports its
/// ISA version or, if that is unknown, isn't older than the toolkit. A build without either list
/// runs on every device that its toolkit can compile for.
CodeFit fit_of(const CudaCode& code, const CudaDevice& device, const Rules& rules);
/// True for Runs, unknown for the two unknown results, false otherwise.
Truth truth_of(CodeFit fit);

/// The PTX with the oldest ISA version among all PTX that the device could run; null if none
/// exists.
const CodeTarget* nearest_ptx(const CudaCode& code, const CudaDevice& device);

}  // namespace gpuprobe::inline policy
