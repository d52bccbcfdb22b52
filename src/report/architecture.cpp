// SPDX-License-Identifier: Apache-2.0
#include "report/architecture.h"

#include "report/api_table.h"
#include "report/api_view.h"
#include "report/chip.h"
#include "report/fact_key.h"
#include "report/vendor.h"

namespace gpuprobe::inline report {
namespace {

/// The first driver's that tells it, by the order among them.
std::optional<std::string> told(const Subject& subject, FactKey<std::string> key) {
    for (const auto* api : by_trust(&ApiTrust::architecture))
        if (const auto* claim = preferred_claim(subject, api->word))
            if (auto text = fact(*claim->device.facts, key))
                return text;
    return std::nullopt;
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
    if (const auto target = told(subject, facts::kGfxTarget))
        return without_features(*target);
    // ROCm's OpenCL, in captures that have the name only.
    const auto* claim = preferred_claim(subject, "opencl");
    return claim && claim->device.facts->name ? without_features(*claim->device.facts->name)
                                              : std::nullopt;
}

/// The member for what an API's builds tell devices apart by; null where they do not.
std::optional<std::string>* member_for(const ApiInfo& api, Architecture& architecture) {
    return api.architecture == facts::kComputeCapability.name
               ? &architecture.cuda_compute_capability
           : api.architecture == facts::kGfxTarget.name ? &architecture.gfx_target
           : api.architecture == facts::kIntelIp.name   ? &architecture.intel_ip
                                                        : nullptr;
}

/// What the table says, where no driver has.
bool fill_from_table(const HardwareDevice& hardware, Architecture& architecture) {
    const auto* chip = chip_of(hardware);
    const auto* api = own_api_of(vendor_of(hardware).value_or(""));
    auto* known = api ? member_for(*api, architecture) : nullptr;
    if (!chip || !chip->architecture || !known || *known)
        return false;
    *known = chip->architecture;
    return true;
}

}  // namespace

JudgedArchitecture architecture_of(const Subject& subject) {
    JudgedArchitecture judged{
        .architecture = {.cuda_compute_capability = told(subject, facts::kComputeCapability),
                         .gfx_target = gfx_target(subject),
                         .intel_ip = told(subject, facts::kIntelIp)}};
    if (judged.architecture != Architecture{})
        judged.basis = Basis::Driver;
    if (subject.hardware && fill_from_table(*subject.hardware, judged.architecture))
        judged.basis = Basis::Table;
    return judged;
}

}  // namespace gpuprobe::inline report
