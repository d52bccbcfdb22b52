// SPDX-License-Identifier: Apache-2.0
#include "report/match.h"

#include <algorithm>

#include "report/chip.h"
#include "report/fact_key.h"
#include "report/identity.h"
#include "report/kind.h"
#include "report/vendor.h"

namespace gpuprobe {
namespace {

std::optional<std::string> device_id_of(const Subject& subject) {
    if (subject.hardware)
        return subject.hardware->device_id;
    for (const auto& claim : subject.claims)
        if (claim.device.facts->device_id)
            return claim.device.facts->device_id;
    return std::nullopt;
}

std::optional<PciAddress> address_of(const Subject& subject) {
    if (subject.hardware)
        return subject.hardware->pci;
    for (const auto& claim : subject.claims)
        if (const auto address = address_of(claim.device))
            return address;
    return std::nullopt;
}

std::optional<Bytes> total_of(const Subject& subject) {
    if (subject.hardware) {
        for (const auto& reading : subject.hardware->memory)
            if (reading.what == "total")
                return reading.bytes;
    }
    for (const auto& claim : subject.claims)
        if (claim.device.facts->memory && claim.device.facts->memory->total)
            return claim.device.facts->memory->total;
    return std::nullopt;
}

bool vendors_differ(const ApiDevice& device, const Subject& subject) {
    return subject.hardware ? contradicts(device, *subject.hardware)
                            : differ(device.vendor, vendor_of(subject));
}

/// "11" of gfx1100, "8" of compute capability 8.6; an override may change what follows.
std::string_view generation_of(std::string_view architecture) {
    constexpr std::string_view kGfx = "gfx";
    if (!architecture.starts_with(kGfx))
        return architecture.substr(0, architecture.find('.'));
    architecture.remove_prefix(kGfx.size());
    architecture = architecture.substr(0, architecture.find(':'));
    constexpr std::size_t kMinorAndStepping = 2;
    return architecture.substr(
        0, architecture.size() - std::min(architecture.size(), kMinorAndStepping));
}

/// Whether a driver tells an architecture that the device with that id cannot have.
bool generations_differ(const ApiDevice& device, const HardwareDevice& hardware) {
    const auto* chip = chip_of(hardware);
    auto told = fact(*device.facts, facts::kGfxTarget);
    if (!told)
        told = fact(*device.facts, facts::kComputeCapability);
    return chip && chip->architecture && told &&
           generation_of(*chip->architecture) != generation_of(*told);
}

}  // namespace

std::optional<PciAddress> address_of(const ApiDevice& device) {
    return device.address ? device.address : device.packed;
}

bool contradicts(const ApiDevice& device, const HardwareDevice& hardware) {
    if (is_virtual_gpu(hardware))
        return false;
    if (const auto vendor = vendor_of(hardware); vendor && device.vendor)
        return *vendor != *device.vendor;
    return differ(device.facts->vendor_id, hardware.vendor_id);
}

bool same_node(const DrmNodes& left, const DrmNodes& right) {
    return (left.render && left.render == right.render) ||
           (left.primary && left.primary == right.primary);
}

bool is_claimed_by(const Subject& subject, const ProbeResult& probe) {
    return std::ranges::any_of(subject.claims,
                               [&](const Claim& claim) { return claim.device.probe == &probe; });
}

bool memory_agrees(const ApiDevice& device, const Subject& subject) {
    if (kind_of(subject) == GpuKind::Integrated)
        return true;
    const auto own = total_of(subject);
    const auto theirs = device.facts->memory ? device.facts->memory->total : std::nullopt;
    return !own || !theirs || similar_sizes(*own, *theirs);
}

bool may_be(const ApiDevice& device, const Subject& subject) {
    if (subject.hardware && role_of(*subject.hardware) != Role::Gpu)
        return false;
    if (is_claimed_by(subject, *device.probe) || differ(address_of(device), address_of(subject)))
        return false;
    if (subject.hardware && device.facts->drm &&
        differ(device.facts->drm->render, subject.hardware->drm.render))
        return false;
    if (subject.hardware && is_virtual_gpu(*subject.hardware))
        return device.facts->type == DeviceType::Virtual;
    if (subject.hardware && generations_differ(device, *subject.hardware))
        return false;
    return !vendors_differ(device, subject) &&
           !differ(device.facts->device_id, device_id_of(subject));
}

bool similar_sizes(Bytes left, Bytes right) {
    constexpr std::uint64_t kPercent = 5;
    const auto larger = std::max(left, right).count;
    const auto difference = larger - std::min(left, right).count;
    return difference <= std::max(larger / 100 * kPercent, mib(512).count);
}

}  // namespace gpuprobe
