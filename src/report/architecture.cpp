// SPDX-License-Identifier: Apache-2.0
#include "report/architecture.h"

#include "report/api_view.h"
#include "report/chip.h"
#include "report/fact_key.h"
#include "report/vendor.h"

namespace gpuprobe {
namespace {

std::optional<std::string> fact_by(const Subject& subject,
                                   std::string_view api,
                                   FactKey<std::string> key) {
    const auto* claim = preferred_claim(subject, api);
    return claim ? fact(*claim->device.facts, key) : std::nullopt;
}

std::optional<std::string> compute_capability(const Subject& subject) {
    auto version = fact_by(subject, "cuda", facts::kComputeCapability);
    return version ? version : fact_by(subject, "nvml", facts::kComputeCapability);
}

std::optional<std::string> without_features(std::string_view target) {
    if (!target.starts_with("gfx"))
        return std::nullopt;
    return std::string{target.substr(0, target.find(':'))};
}

std::optional<std::string> gfx_target(const Subject& subject) {
    if (subject.hardware)
        if (const auto target = fact(*subject.hardware, kernel_facts::kGfxTarget))
            return without_features(*target);
    for (const auto* api : {"hip", "opencl"})
        if (const auto target = fact_by(subject, api, facts::kGfxTarget))
            return without_features(*target);
    // ROCm's OpenCL, in captures that have the name only.
    const auto* claim = preferred_claim(subject, "opencl");
    return claim && claim->device.facts->name ? without_features(*claim->device.facts->name)
                                              : std::nullopt;
}

std::optional<std::string> intel_ip(const Subject& subject) {
    auto version = fact_by(subject, "level_zero", facts::kIntelIp);
    return version ? version : fact_by(subject, "opencl", facts::kIntelIp);
}

/// What the table says, where no driver has.
bool fill_from_table(const HardwareDevice& hardware, Architecture& architecture) {
    const auto* chip = chip_of(hardware);
    if (!chip || !chip->architecture)
        return false;
    const auto vendor = vendor_of(hardware);
    auto* known = vendor == "nvidia"  ? &architecture.cuda_compute_capability
                  : vendor == "amd"   ? &architecture.gfx_target
                  : vendor == "intel" ? &architecture.intel_ip
                                      : nullptr;
    if (!known || *known)
        return false;
    *known = chip->architecture;
    return true;
}

}  // namespace

JudgedArchitecture architecture_of(const Subject& subject) {
    JudgedArchitecture judged{
        .architecture = {.cuda_compute_capability = compute_capability(subject),
                         .gfx_target = gfx_target(subject),
                         .intel_ip = intel_ip(subject)}};
    if (judged.architecture != Architecture{})
        judged.basis = Basis::Driver;
    if (subject.hardware && fill_from_table(*subject.hardware, judged.architecture))
        judged.basis = Basis::Table;
    return judged;
}

}  // namespace gpuprobe
