// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dotted_version.h"
#include "policy/truth.h"

namespace gpuprobe::inline policy {
class Rules;
}

/// Which CUDA code runs on which device. Source: CUDA C++ Programming Guide, "Compute Capabilities"
/// and "Application Compatibility"; CUDA Compatibility, "Minor Version Compatibility".
namespace gpuprobe::inline policy {

/// A device's compute capability: "8.9".
struct ComputeCapability {
    std::uint32_t major = 0;
    std::uint32_t minor = 0;
    auto operator<=>(const ComputeCapability&) const = default;
    bool operator==(const ComputeCapability&) const = default;
};
/// One or two digits, a dot and one digit; nullopt for anything else.
std::optional<ComputeCapability> parse_text(std::string_view text,
                                            std::type_identity<ComputeCapability>);
std::string text_of(const ComputeCapability& capability);
/// Of its version "8.9".
constexpr ComputeCapability capability_of(const Version& version) {
    return {.major = version.parts[0], .minor = version.parts[1]};
}

/// What code was compiled for: "9.0", architecture-specific "9.0a", or family-specific "10.0f";
/// PTX perhaps with its version, "9.0@9.1".
enum class CodeSuffix { None, Specific, Family };
struct CodeTarget {
    ComputeCapability capability = {};
    CodeSuffix suffix = CodeSuffix::None;
    std::optional<Version> isa = {};  ///< PTX's version, where it is known
    bool operator==(const CodeTarget&) const = default;
};
std::optional<CodeTarget> parse_text(std::string_view text, std::type_identity<CodeTarget>);
std::string text_of(const CodeTarget& target);

/// The CUDA code in a build.
struct CudaCode {
    Version toolkit = {};                              ///< zero where it is not known
    std::optional<std::vector<CodeTarget>> sass = {};  ///< cubins
    std::optional<std::vector<CodeTarget>> ptx = {};
    bool exact = false;  ///< runs on the very capabilities it was compiled for only
    bool operator==(const CudaCode&) const = default;
};

/// A device, as far as running code is concerned.
struct CudaDevice {
    Fact<ComputeCapability> capability = {};
    Fact<Version> cuda = {};  ///< the newest CUDA that its driver runs
    bool is_tegra = false;    ///< between Tegra and other devices there is no promise
    bool operator==(const CudaDevice&) const = default;
};

/// Why code does or does not run.
enum class CodeFit {
    Runs,
    NoCode,             ///< neither cubin nor PTX for this capability
    PtxNeedsNewerCuda,  ///< only PTX, and the driver is older than it, or its version is newer
    CapabilityUnknown,
    CudaUnknown,  ///< only PTX, and what CUDA the driver runs is not known
    NoCuda,       ///< not a CUDA device, or only PTX and no CUDA driver
};

/// A cubin runs on its own major capability from its minor one on; PTX on its capability and all
/// later ones, when the driver knows its version or, where that is not known, is not older than the
/// toolkit. Without either list everything runs that the toolkit can compile for at all.
CodeFit fit_of(const CudaCode& code, const CudaDevice& device, const Rules& rules);
Truth truth_of(CodeFit fit);

/// Of the PTX that the device could run, the one of the oldest version; null for none.
const CodeTarget* nearest_ptx(const CudaCode& code, const CudaDevice& device);

}  // namespace gpuprobe::inline policy
