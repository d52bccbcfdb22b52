// SPDX-License-Identifier: Apache-2.0
#include "report/kind.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "knowledge/chips.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/hardware.h"
#include "report/identity.h"
#include "report/memory.h"

namespace gpuprobe::inline report {
namespace {

std::optional<GpuKind> kind_from(std::optional<DeviceType> type) {
    if (type == DeviceType::Discrete)
        return GpuKind::Discrete;
    if (type == DeviceType::Integrated)
        return GpuKind::Integrated;
    if (type == DeviceType::Virtual)
        return GpuKind::Virtual;
    return std::nullopt;
}

/// Evidence 2: the type from the most trusted API that reports one.
std::optional<GpuKind> kind_by_apis(const Subject& subject) {
    for (const auto* api : by_trust(&ApiTrust::kind))
        for (const auto& claim : subject.claims)
            if (claim.device.probe->api == api->word)
                if (const auto kind = kind_from(claim.device.facts->type))
                    return kind;
    return std::nullopt;
}

/// Evidence 4: a row of the chip table, for the device or for its driver.
std::optional<GpuKind> kind_by(const knowledge::Chip* chip) {
    if (!chip || !chip->form)
        return std::nullopt;
    switch (*chip->form) {
        case knowledge::Form::Discrete:
            return GpuKind::Discrete;
        case knowledge::Form::Integrated:
            return GpuKind::Integrated;
        case knowledge::Form::Paravirtual:
            return GpuKind::Virtual;
        case knowledge::Form::VirtualFunction:
            break;
    }
    // A virtual function with dedicated memory belongs to a card.
    const bool has_own = chip->memory == knowledge::ChipMemory::Dedicated;
    return has_own ? GpuKind::Discrete : GpuKind::Integrated;
}

/// Evidence 5: Intel's rule.
GpuKind intel_kind(const Subject& subject) {
    constexpr PciAddress kIntegrated{.bus = 0, .device = 2};
    const auto pci = pci_of(subject);
    if (!pci || !pci->address)
        return GpuKind::Unknown;
    return *pci->address == kIntegrated ? GpuKind::Integrated : GpuKind::Discrete;
}

bool has_cpu_cores(const HardwareDevice& hardware) {
    // A KFD node without SIMDs is the processor's node.
    return fact(hardware, kernel_facts::kKfdCpuCores).value_or(0) > 0 &&
           fact(hardware, kernel_facts::kSimdCount).value_or(0) > 0;
}

bool has_what_cards_have(const HardwareDevice& hardware) {
    return hardware.pci_class == "0302" || hardware.pci_class == "1200" ||
           fact(hardware, kernel_facts::kVramVendor);
}

/// AMD's memory rule: little VRAM and much more GTT.
bool looks_like_apu(const HardwareDevice& hardware) {
    const auto vram = reading_of(hardware, "amdgpu-sysfs", "total");
    const auto gtt = reading_of(hardware, "amdgpu-sysfs", "gtt-total");
    return vram && gtt && *vram <= gib(4) && *gtt >= gib(8) && gtt->count / 4 >= vram->count;
}

/// Evidence 3, which comes before the chip table, because it describes this device and not all
/// devices with the same id.
std::optional<GpuKind> kind_by_amdgpu(const HardwareDevice& hardware) {
    const auto has_vddnb = fact(hardware, kernel_facts::kHasVddnb);
    if (has_cpu_cores(hardware) || has_vddnb == true)
        return GpuKind::Integrated;
    if (has_vddnb == false || fact(hardware, kernel_facts::kHasBoardInfo) == true)
        return GpuKind::Discrete;
    return std::nullopt;
}

/// Evidence 6: AMD's rules.
GpuKind amd_kind(const HardwareDevice& hardware) {
    if (has_what_cards_have(hardware))
        return GpuKind::Discrete;
    if (looks_like_apu(hardware))
        return GpuKind::Integrated;
    // Desktop APUs have also been seen as class 0380, so the memory sizes are tested before the
    // class.
    const bool has_memory = reading_of(hardware, "amdgpu-sysfs", "total").has_value();
    return hardware.pci_class == "0380" || has_memory ? GpuKind::Discrete : GpuKind::Unknown;
}

/// Whether the name is for a system on a chip: GB10 is a PCI device, and Jetsons have names such as
/// "Orin (nvgpu)".
bool names_a_system_on_chip(std::string_view name) {
    constexpr std::array kSystems = std::to_array<std::string_view>(
        {"(nvgpu)", "gb10", "jetson", "nvgpu", "orin", "tegra", "thor", "xavier"});
    const auto text = lower_case(name);
    return std::ranges::any_of(words(text), [&](std::string_view word) {
        return std::ranges::find(kSystems, word) != kSystems.end();
    });
}

bool has_memory_by(const Subject& subject, std::string_view api) {
    return std::ranges::any_of(subject.claims, [&](const Claim& claim) {
        const auto& memory = claim.device.facts->memory;
        return claim.device.probe->api == api && memory &&
               memory->total.value_or(Bytes{}).count > 0;
    });
}

/// Evidence 7: NVIDIA's rules.
GpuKind nvidia_kind(const Subject& subject) {
    if (names_a_system_on_chip(name_of(subject).value_or("")))
        return GpuKind::Integrated;
    return subject.hardware || has_memory_by(subject, "nvml") ? GpuKind::Discrete
                                                              : GpuKind::Unknown;
}

/// Evidence 5 to 8: rules for each vendor.
GpuKind kind_by_vendor(const Subject& subject) {
    const auto* hardware = subject.hardware;
    if (hardware && hardware->bus == HardwareBus::Platform)
        return GpuKind::Integrated;
    const auto vendor = vendor_of(subject);
    if (vendor == "nvidia")
        return nvidia_kind(subject);
    if (vendor == "intel")
        return intel_kind(subject);
    return hardware && vendor == "amd" ? amd_kind(*hardware) : GpuKind::Unknown;
}

bool is_gpu_claim(const Claim& claim) {
    return claim.device.probe->api != "pci";
}

/// Intel's driver lists NPUs next to GPUs.
bool is_npu_claim(const Claim& claim) {
    return fact(*claim.device.facts, facts::kDeviceType) == "npu";
}

}  // namespace

bool shares_all_memory(const HardwareDevice& hardware) {
    const auto* chip = chip_of(hardware);
    return chip && chip->memory == knowledge::ChipMemory::Unified;
}

JudgedRole judge_role(const Subject& subject) {
    // Only APIs report this GPU, so the device type from the APIs decides.
    if (!subject.hardware) {
        const bool is_npu = std::ranges::any_of(subject.claims, is_npu_claim);
        return {.role = is_npu ? Role::Accelerator : Role::Gpu, .basis = Basis::Driver};
    }
    const auto judged = judge_role(*subject.hardware);
    // An API that lists the function outweighs a guess, but not the chip table or the kernel
    // driver.
    const bool may_be_gpu = judged.role == Role::Dropped ||
                            (judged.role == Role::DisplayOnly && judged.basis == Basis::Rule);
    const bool is_listed = std::ranges::any_of(subject.claims, is_gpu_claim);
    return may_be_gpu && is_listed && subject.hardware->pci
               ? JudgedRole{.role = Role::Gpu, .basis = Basis::Driver}
               : judged;
}

Role role_of(const Subject& subject) {
    return judge_role(subject).role;
}

JudgedKind judge_kind(const Subject& subject) {
    const auto role = judge_role(subject);
    if (role.role == Role::DisplayOnly)
        return {.kind = GpuKind::DisplayOnly, .basis = role.basis};
    if (subject.hardware && is_virtual_gpu(*subject.hardware))
        return {.kind = GpuKind::Virtual, .basis = Basis::Table};
    if (const auto reported = kind_by_apis(subject))
        return {.kind = *reported, .basis = Basis::Driver};
    if (const auto shown = subject.hardware ? kind_by_amdgpu(*subject.hardware) : std::nullopt)
        return {.kind = *shown, .basis = Basis::Driver};
    if (const auto known = subject.hardware ? kind_by(chip_of(*subject.hardware)) : std::nullopt)
        return {.kind = *known, .basis = Basis::Table};
    if (const auto known =
            subject.hardware ? kind_by(driver_row_of(*subject.hardware)) : std::nullopt)
        return {.kind = *known, .basis = Basis::Driver};
    return {.kind = kind_by_vendor(subject), .basis = Basis::Rule};
}

GpuKind kind_of(const Subject& subject) {
    return judge_kind(subject).kind;
}

}  // namespace gpuprobe::inline report
