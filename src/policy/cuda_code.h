// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/dotted_version.h"
#include "policy/truth.h"

/// Which CUDA code runs on which device. Source: CUDA C++ Programming Guide, "Compute Capabilities"
/// and "Application Compatibility"; CUDA Compatibility, "Minor Version Compatibility".
namespace gpuprobe {

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

/// What code was compiled for: "9.0", architecture-specific "9.0a", or family-specific "10.0f".
enum class CodeSuffix { None, Specific, Family };
struct CodeTarget {
    ComputeCapability capability = {};
    CodeSuffix suffix = CodeSuffix::None;
    bool operator==(const CodeTarget&) const = default;
};
std::optional<CodeTarget> parse_text(std::string_view text, std::type_identity<CodeTarget>);
std::string text_of(const CodeTarget& target);

/// The CUDA code in a build.
struct CudaCode {
    Version toolkit = {};
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
    PtxNeedsNewerCuda,  ///< only PTX, and the driver is older than the toolkit that made it
    CapabilityUnknown,
    CudaUnknown,  ///< only PTX, and what CUDA the driver runs is not known
    NoCuda,       ///< not a CUDA device, or only PTX and no CUDA driver
};

/// A cubin runs on its own major capability from its minor one on; PTX on its capability and all
/// later ones, when the driver is not older than the toolkit. Without either list everything runs.
CodeFit fit_of(const CudaCode& code, const CudaDevice& device);
Truth truth_of(CodeFit fit);

}  // namespace gpuprobe
