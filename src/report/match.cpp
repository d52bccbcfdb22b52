// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/text.h"
#include "knowledge/chips.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/hardware.h"
#include "report/identity.h"
#include "report/join.h"
#include "report/kind.h"

namespace gpuprobe::inline report {
namespace {

/// The PCI device id of the hardware, or of the first record if the hardware is hidden.
std::optional<std::string> device_id_of(const Subject& subject) {
    if (subject.hardware)
        return subject.hardware->device_id;
    for (const auto& claim : subject.claims)
        if (claim.device.facts->device_id)
            return claim.device.facts->device_id;
    return std::nullopt;
}

/// The address of the hardware, or of the first record if the hardware is hidden.
std::optional<PciAddress> address_of(const Subject& subject) {
    if (subject.hardware)
        return subject.hardware->pci;
    for (const auto& claim : subject.claims)
        if (const auto address = address_of(claim.device))
            return address;
    return std::nullopt;
}

/// The total memory: the kernel's reading or, if the kernel has none, the reading in the first
/// record.
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

/// The part of an architecture that identifies its generation: "11" in gfx1100 and "20" in Intel's
/// 20.4.4, because overrides can change the other parts. A compute capability is returned
/// unchanged, because nothing can override it.
std::string_view generation_of(std::string_view architecture, bool is_capability) {
    constexpr std::string_view kGfx = "gfx";
    if (is_capability)
        return architecture;
    if (!architecture.starts_with(kGfx))
        return architecture.substr(0, architecture.find('.'));
    architecture.remove_prefix(kGfx.size());
    architecture = architecture.substr(0, architecture.find(':'));
    // The last two digits are the minor version and the stepping.
    constexpr std::size_t kMinorAndStepping = 2;
    return architecture.substr(
        0, architecture.size() - std::min(architecture.size(), kMinorAndStepping));
}

std::optional<std::string> architecture_of(const DeviceFacts& device) {
    for (const auto key : {facts::kGfxTarget, facts::kComputeCapability, facts::kIntelIp})
        if (auto value = fact(device, key))
            return value;
    return std::nullopt;
}

/// Whether both architectures are known and are from different generations.
bool generations_differ(const DeviceFacts& device, const std::optional<std::string>& architecture) {
    const auto reported = architecture_of(device);
    const bool is_capability = fact(device, facts::kComputeCapability).has_value();
    return architecture && reported &&
           generation_of(*architecture, is_capability) != generation_of(*reported, is_capability);
}

/// The numbers in a model name, such as "6600" in "Radeon RX 6600 XT". Numbers with fewer than
/// three digits are ignored.
std::vector<std::string_view> numbers_in(std::string_view name) {
    constexpr std::string_view kDigits = "0123456789";
    constexpr std::size_t kFewest = 3;
    std::vector<std::string_view> numbers;
    for (auto at = name.find_first_of(kDigits); at != std::string_view::npos;
         at = name.find_first_of(kDigits, at)) {
        const auto end = std::min(name.find_first_not_of(kDigits, at), name.size());
        if (end - at >= kFewest)
            numbers.push_back(name.substr(at, end - at));
        at = end;
    }
    return numbers;
}

/// The marketing name without driver and chip in parentheses; in "Navi 23 [Radeon RX 6600]", the
/// part in brackets. Outside the brackets, pci.ids contains names of chips and processors.
std::string_view model_in(std::string_view name, bool is_listed) {
    const auto open = name.find('[');
    if (open != std::string_view::npos)
        return name.substr(open + 1, name.find(']', open) - open - 1);
    return is_listed ? std::string_view{} : name.substr(0, name.find(" ("));
}

/// The chip in Mesa's name: "navi23" in "AMD Radeon RX 6600 (RADV NAVI23)".
std::string chip_in(std::string_view name) {
    for (const std::string_view mark : {"(RADV ", "(NVK "})
        if (const auto at = name.find(mark); at != std::string_view::npos) {
            const auto word = name.substr(at + mark.size());
            return lower_case(word.substr(0, word.find_first_of(" ,)")));
        }
    return {};
}

/// Whether both words are chips of the same series with different numbers, such as "navi23" and
/// "navi31".
bool chips_differ(std::string_view left, std::string_view right) {
    const auto line = [](std::string_view chip) {
        return chip.substr(0, chip.find_last_not_of("0123456789") + 1);
    };
    const bool are_numbered = line(left) != left && line(right) != right;
    return are_numbered && left != right && line(left) == line(right);
}

/// Whether no number in one name belongs to the same series (same length and first digit) as a
/// number in the other name; true for RX 6600 and RX 7900 XTX. One device id can have several
/// numbers of a series ("RX 5500", "RX 5300M").
bool numbers_differ(std::string_view left, std::string_view right) {
    const auto ours = numbers_in(left);
    const auto theirs = numbers_in(right);
    const auto are_alike = [](std::string_view one, std::string_view other) {
        return one.size() == other.size() && one.front() == other.front();
    };
    const auto has_one_alike = [&](std::string_view one) {
        return std::ranges::any_of(theirs,
                                   [&](std::string_view other) { return are_alike(one, other); });
    };
    return !ours.empty() && !theirs.empty() && std::ranges::none_of(ours, has_one_alike);
}

/// Whether the record's name contradicts a name that the subject has from another API, the kernel
/// driver or the chip table.
bool names_differ(const DeviceFacts& device, const Subject& subject) {
    if (!device.name)
        return false;
    const auto model = model_in(*device.name, false);
    const bool is_contradicted = std::ranges::any_of(subject.claims, [&](const Claim& claim) {
        const auto& name = claim.device.facts->name;
        const bool is_listed = claim.device.probe->api == "pci";
        return name && numbers_differ(model, model_in(*name, is_listed));
    });
    if (is_contradicted || !subject.hardware)
        return is_contradicted;
    const auto& own = subject.hardware->model;
    const auto* chip = chip_of(*subject.hardware);
    return (own && numbers_differ(model, model_in(*own, false))) ||
           (chip && chip->name && numbers_differ(model, model_in(*chip->name, false))) ||
           (chip && chip->chip && chips_differ(chip_in(*device.name), *chip->chip));
}

/// Whether the record has an architecture or a name that this subject cannot have.
bool models_differ(const DeviceFacts& device, const Subject& subject) {
    const auto* chip = subject.hardware ? chip_of(*subject.hardware) : nullptr;
    const bool is_of_another = chip && generations_differ(device, chip->architecture);
    const auto contradicts_claim = [&device](const Claim& claim) {
        return generations_differ(device, architecture_of(*claim.device.facts));
    };
    return is_of_another || std::ranges::any_of(subject.claims, contradicts_claim) ||
           names_differ(device, subject);
}

}  // namespace

std::optional<PciAddress> address_of(const ApiDevice& device) {
    return device.address ? device.address : device.packed;
}

bool contradicts(const ApiDevice& device, const HardwareDevice& hardware) {
    if (is_virtual_gpu(hardware))
        return false;
    const auto* api = find_api(device.probe->api);
    if (const auto vendor = vendor_of(hardware); vendor && device.vendor)
        return *vendor != *device.vendor && !(api && *vendor == api->licensees);
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

bool has_size_of(const ApiDevice& device, const Subject& subject) {
    const auto own = total_of(subject);
    const auto theirs = device.facts->memory ? device.facts->memory->total : std::nullopt;
    return kind_of(subject) == GpuKind::Discrete && own && theirs && similar_sizes(*own, *theirs);
}

bool may_be(const ApiDevice& device, const Subject& subject) {
    // Records are never matched to display devices and accelerators by similarity.
    if (subject.hardware && role_of(*subject.hardware) != Role::Gpu)
        return false;
    if (is_claimed_by(subject, *device.probe) || differ(address_of(device), address_of(subject)))
        return false;
    if (subject.hardware && device.facts->drm &&
        differ(device.facts->drm->render, subject.hardware->drm.render))
        return false;
    // A paravirtual GPU reports the host GPU's ids and name, so only the type can be compared.
    if (subject.hardware && is_virtual_gpu(*subject.hardware))
        return device.facts->type == DeviceType::Virtual;
    return !vendors_differ(device, subject) &&
           !differ(device.facts->device_id, device_id_of(subject)) &&
           !models_differ(*device.facts, subject);
}

bool similar_sizes(Bytes left, Bytes right) {
    constexpr std::uint64_t kPercent = 5;
    const auto larger = std::max(left, right).count;
    const auto difference = larger - std::min(left, right).count;
    return difference <= std::max(larger / 100 * kPercent, mib(512).count);
}

}  // namespace gpuprobe::inline report
