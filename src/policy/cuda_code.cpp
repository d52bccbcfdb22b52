// SPDX-License-Identifier: Apache-2.0
#include "policy/cuda_code.h"

#include <algorithm>

#include "base/text.h"
#include "policy/rules.h"

namespace gpuprobe::inline policy {
namespace {

bool is_exactly(const CodeTarget& target, const ComputeCapability& device) {
    return target.capability == device;
}

/// The rule for cubins, and for PTX that is family-specific.
bool is_same_major(const CodeTarget& target, const ComputeCapability& device) {
    return target.capability.major == device.major && target.capability.minor <= device.minor;
}

bool cubin_runs(const CodeTarget& cubin, const ComputeCapability& device, bool exact) {
    // Architecture-specific code ("9.0a") isn't forward compatible.
    if (exact || cubin.suffix == CodeSuffix::Specific)
        return is_exactly(cubin, device);
    return is_same_major(cubin, device);
}

bool ptx_runs(const CodeTarget& ptx, const ComputeCapability& device, bool exact) {
    if (exact || ptx.suffix == CodeSuffix::Specific)
        return is_exactly(ptx, device);
    if (ptx.suffix == CodeSuffix::Family)
        return is_same_major(ptx, device);
    return ptx.capability <= device;
}

/// Whether the driver can compile this PTX.
Truth is_known_to_driver(const CodeTarget& ptx,
                         const CudaCode& code,
                         const Fact<Version>& cuda,
                         const Rules& rules) {
    if (ptx.isa && cuda.value)
        return rules.runs_ptx(*cuda.value, *ptx.isa);
    // PTX without an ISA version: compare the driver with the toolkit that produced it.
    return when_known(cuda, [&code](const Version& have) { return have >= code.toolkit; });
}

/// The best result over all PTX that the device could run.
CodeFit fit_of_ptx(const CudaCode& code, const CudaDevice& device, const Rules& rules) {
    auto found = Truth::False;
    bool is_there = false;
    for (const auto& ptx : code.ptx.value_or(std::vector<CodeTarget>{})) {
        if (!ptx_runs(ptx, *device.capability.value, code.exact))
            continue;
        is_there = true;
        found = either(found, is_known_to_driver(ptx, code, device.cuda, rules));
    }
    if (!is_there)
        return CodeFit::NoCode;
    if (found == Truth::True)
        return CodeFit::Runs;
    if (found == Truth::Unknown)
        return CodeFit::CudaUnknown;
    return device.cuda.value ? CodeFit::PtxNeedsNewerCuda : CodeFit::NoCuda;
}

}  // namespace

std::optional<ComputeCapability> parse_text(std::string_view text,
                                            std::type_identity<ComputeCapability>) {
    // The text is exactly "major.minor", and the minor has one digit.
    const auto dot = text.find('.');
    if (dot == std::string_view::npos || dot > 2 || text.size() != dot + 2)
        return std::nullopt;
    const auto major = parse_number<std::uint32_t>(text.substr(0, dot));
    const auto minor = parse_number<std::uint32_t>(text.substr(dot + 1));
    if (!major || !minor)
        return std::nullopt;
    return ComputeCapability{.major = *major, .minor = *minor};
}

std::string text_of(const ComputeCapability& capability) {
    return std::to_string(capability.major) + "." + std::to_string(capability.minor);
}

std::optional<CodeTarget> parse_text(std::string_view text, std::type_identity<CodeTarget>) {
    CodeTarget target;
    // Split off PTX's ISA version first.
    if (const auto at = text.find('@'); at != std::string_view::npos) {
        target.isa = parse_text(text.substr(at + 1), std::type_identity<Version>{});
        if (!target.isa)
            return std::nullopt;
        text = text.substr(0, at);
    }
    if (text.ends_with('a'))
        target.suffix = CodeSuffix::Specific;
    else if (text.ends_with('f'))
        target.suffix = CodeSuffix::Family;
    if (target.suffix != CodeSuffix::None)
        text.remove_suffix(1);
    const auto capability = parse_text(text, std::type_identity<ComputeCapability>{});
    if (!capability)
        return std::nullopt;
    target.capability = *capability;
    return target;
}

std::string text_of(const CodeTarget& target) {
    const auto* suffix = target.suffix == CodeSuffix::Specific ? "a"
                         : target.suffix == CodeSuffix::Family ? "f"
                                                               : "";
    return text_of(target.capability) + suffix + (target.isa ? "@" + text_of(*target.isa) : "");
}

CodeFit fit_of(const CudaCode& code, const CudaDevice& device, const Rules& rules) {
    const auto oldest = rules.oldest_capability(code.toolkit);
    // Neither lists nor a toolkit: nothing is known that would rule the device out.
    if (!code.sass && !code.ptx && !oldest)
        return CodeFit::Runs;
    if (!device.capability.value)
        return device.capability.is_probed ? CodeFit::NoCuda : CodeFit::CapabilityUnknown;
    const auto& capability = *device.capability.value;
    // The toolkit can't compile for such an old device.
    if (oldest && capability < *oldest)
        return CodeFit::NoCode;
    if (!code.sass && !code.ptx)
        return CodeFit::Runs;
    const bool is_exact = code.exact || device.is_tegra;
    // A matching cubin needs no compiler in the driver, so check cubins first.
    if (code.sass && std::ranges::any_of(*code.sass, [&](const CodeTarget& cubin) {
            return cubin_runs(cubin, capability, is_exact);
        }))
        return CodeFit::Runs;
    return fit_of_ptx(code, device, rules);
}

const CodeTarget* nearest_ptx(const CudaCode& code, const CudaDevice& device) {
    const CodeTarget* nearest = nullptr;
    if (code.ptx && device.capability.value)
        for (const auto& ptx : *code.ptx)
            if (ptx_runs(ptx, *device.capability.value, code.exact) &&
                (!nearest || ptx.isa < nearest->isa))
                nearest = &ptx;
    return nearest;
}

Truth truth_of(CodeFit fit) {
    switch (fit) {
        case CodeFit::Runs:
            return Truth::True;
        case CodeFit::CapabilityUnknown:
        case CodeFit::CudaUnknown:
            return Truth::Unknown;
        case CodeFit::NoCode:
        case CodeFit::PtxNeedsNewerCuda:
        case CodeFit::NoCuda:
            break;
    }
    return Truth::False;
}

}  // namespace gpuprobe::inline policy
