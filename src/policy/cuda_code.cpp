// SPDX-License-Identifier: Apache-2.0
#include "policy/cuda_code.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe {
namespace {

bool is_exactly(const CodeTarget& target, const ComputeCapability& device) {
    return target.capability == device;
}

bool is_same_major(const CodeTarget& target, const ComputeCapability& device) {
    return target.capability.major == device.major && target.capability.minor <= device.minor;
}

bool cubin_runs(const CodeTarget& cubin, const ComputeCapability& device, bool exact) {
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

template <class Runs>
bool any_runs(const std::optional<std::vector<CodeTarget>>& targets, Runs runs) {
    return targets && std::ranges::any_of(*targets, runs);
}

CodeFit fit_of_ptx(const CudaCode& code, const CudaDevice& device) {
    if (!device.cuda.value)
        return device.cuda.is_probed ? CodeFit::NoCuda : CodeFit::CudaUnknown;
    return *device.cuda.value >= code.toolkit ? CodeFit::Runs : CodeFit::PtxNeedsNewerCuda;
}

}  // namespace

std::optional<ComputeCapability> parse_text(std::string_view text,
                                            std::type_identity<ComputeCapability>) {
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
    return text_of(target.capability) + suffix;
}

CodeFit fit_of(const CudaCode& code, const CudaDevice& device) {
    if (!code.sass && !code.ptx)
        return CodeFit::Runs;
    if (!device.capability.value)
        return device.capability.is_probed ? CodeFit::NoCuda : CodeFit::CapabilityUnknown;
    const auto& capability = *device.capability.value;
    if (any_runs(code.sass, [&](const CodeTarget& cubin) {
            return cubin_runs(cubin, capability, code.exact || device.is_tegra);
        }))
        return CodeFit::Runs;
    if (any_runs(code.ptx,
                 [&](const CodeTarget& ptx) { return ptx_runs(ptx, capability, code.exact); }))
        return fit_of_ptx(code, device);
    return CodeFit::NoCode;
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

}  // namespace gpuprobe
