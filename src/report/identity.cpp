// SPDX-License-Identifier: Apache-2.0
#include "report/identity.h"

#include <map>
#include <utility>

#include "base/text.h"
#include "knowledge/chips.h"
#include "report/api_device.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/fact_table.h"
#include "report/gpu_views.h"
#include "report/hardware.h"
#include "report/kind.h"

namespace gpuprobe::inline report {
namespace {

/// The facts from the API's preferred driver; null if the API does not list the subject.
const DeviceFacts* facts_of(const Subject& subject, std::string_view api) {
    const auto* claim = preferred_claim(subject, api);
    return claim ? claim->device.facts : nullptr;
}

constexpr std::size_t kSerialDigits = 16;

/// Returns `text` unchanged if it identifies a device and has the given number of digits.
std::optional<std::string> naming(const std::optional<std::string>& text, std::size_t digits) {
    const auto found = text ? uuid_digits(*text) : std::nullopt;
    return found && found->size() == digits ? text : std::nullopt;
}

std::optional<std::string> uuid_by(const Subject& subject,
                                   std::string_view api,
                                   std::size_t digits = kUuidDigits) {
    const auto* facts = facts_of(subject, api);
    return facts ? naming(facts->uuid, digits) : std::nullopt;
}

/// NVIDIA's UUID from the driver's procfs, or else from NVML, or else from CUDA.
std::optional<std::string> nvidia_uuid(const Subject& subject) {
    if (vendor_of(subject) != "nvidia")
        return std::nullopt;
    if (subject.hardware && subject.hardware->driver == "nvidia")
        if (auto uuid = naming(subject.hardware->uuid, kUuidDigits))
            return uuid;
    auto uuid = uuid_by(subject, "nvml");
    return uuid ? uuid : uuid_by(subject, "cuda");
}

/// AMD's serial number from sysfs, or else from HIP.
std::optional<std::string> hip_unique_id(const Subject& subject) {
    if (vendor_of(subject) != "amd")
        return std::nullopt;
    if (subject.hardware)
        if (auto serial = naming(subject.hardware->uuid, kSerialDigits))
            return serial;
    return uuid_by(subject, "hip", kSerialDigits);
}

/// The kernel's DRM numbers, or else the numbers from the first API that reports them.
DrmNodes drm_of(const Subject& subject) {
    if (subject.hardware && subject.hardware->is_drm)
        return subject.hardware->drm;
    for (const auto& claim : subject.claims)
        if (claim.device.facts->drm)
            return *claim.device.facts->drm;
    return subject.hardware ? subject.hardware->drm : DrmNodes{};
}

std::optional<std::string> luid_of(const Subject& subject) {
    for (const auto& claim : subject.claims)
        if (claim.device.luid)
            return claim.device.luid;
    return std::nullopt;
}

/// The KFD node: the kernel's number or, if the topology is hidden, HSA's number.
std::optional<std::uint32_t> kfd_node_of(const Subject& subject) {
    auto number = subject.hardware ? fact(*subject.hardware, kernel_facts::kKfdNode)
                                   : std::optional<std::uint64_t>{};
    if (const auto* facts = facts_of(subject, "hip"); facts && !number)
        number = fact(*facts, facts::kKfdNode);
    const bool fits = number && std::in_range<std::uint32_t>(*number);
    return fits ? std::optional{static_cast<std::uint32_t>(*number)} : std::nullopt;
}

/// Formats a UUID as "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx", in the byte order of the API.
std::optional<std::string> dashed(const std::optional<std::string>& uuid) {
    auto digits = uuid ? uuid_digits(*uuid) : std::nullopt;
    if (!digits || digits->size() != kUuidDigits)
        return std::nullopt;
    for (const std::size_t place : {8U, 13U, 18U, 23U})
        digits->insert(place, 1, '-');
    return digits;
}

/// NVIDIA's UUID, or else the UUID from the most trusted API.
std::optional<std::string> canonical_uuid(const Identity& identity) {
    auto canonical = dashed(identity.nvidia_uuid);
    for (const auto* api : by_trust(&ApiTrust::uuid))
        if (!canonical)
            canonical = dashed(identity.uuids[place_of(api->id)]);
    return canonical;
}

/// Removes ids of one kind that several GPUs share, because a shared id identifies no GPU.
template <class IdOf>
void settle(std::vector<Gpu>& gpus, IdOf id_of) {
    std::map<std::string, int> uses;
    const auto digits = [&id_of](Gpu& gpu) {
        return uuid_digits(id_of(gpu.identity).value_or("")).value_or("");
    };
    for (auto& gpu : gpus)
        ++uses[digits(gpu)];
    for (auto& gpu : gpus)
        if (uses[digits(gpu)] > 1)
            id_of(gpu.identity).reset();
}

PciInfo pci_of(const HardwareDevice& hardware) {
    return PciInfo{.address = hardware.pci,
                   .vendor_id = hardware.vendor_id,
                   .device_id = hardware.device_id,
                   .subsystem_vendor_id = hardware.subsystem_vendor_id,
                   .subsystem_device_id = hardware.subsystem_device_id,
                   .pci_class = hardware.pci_class,
                   .revision = hardware.revision,
                   .numa_node = hardware.numa_node,
                   .bar = hardware.largest_bar,
                   .link_width = hardware.link_width,
                   .max_link_width = hardware.max_link_width,
                   .iommu = fact(hardware, kernel_facts::kIommu)};
}

template <class T>
void fill(std::optional<T>& known, const std::optional<T>& offered) {
    if (!known)
        known = offered;
}

/// The name without trademark signs.
std::string without_signs(std::string name) {
    for (const std::string_view sign : {" (R)", "(R)", " (TM)", "(TM)", " (tm)", "(tm)"})
        for (auto at = name.find(sign); at != std::string::npos; at = name.find(sign))
            name.erase(at, sign.size());
    return name;
}

/// Whether a name is AMD's generic name for GPUs without a specific name. libdrm also uses this
/// name for devices that aren't in its table.
bool is_for_any_radeon(const std::string& name) {
    const auto plain = without_signs(name);
    return plain == "AMD Radeon Graphics" || plain == "Radeon Graphics";
}

/// Removes the suffix of Mesa ("AMD Radeon RX 6900 XT (RADV NAVI21)") and CUDA's suffix for a MIG
/// instance.
std::string without_driver(std::string name) {
    for (const std::string_view mark : {" (RADV ", " (NVK "})
        if (const auto at = name.find(mark); at != std::string::npos && name.ends_with(')'))
            name.erase(at);
    if (const auto at = name.find(" MIG "); at != std::string::npos)  // CUDA's name for an instance
        name.erase(at);
    return name;
}

/// The marketing name; nullopt if the API has none. ROCm's OpenCL, for example, reports the
/// architecture as the name, and the board's name elsewhere.
std::optional<std::string> marketing_name(const DeviceFacts& facts) {
    constexpr std::string_view kNoText =
        "\xef\xbf\xbd";  // the replacement character, from scrubbing invalid text
    if (!facts.name || trimmed(*facts.name).empty() || facts.name->starts_with("gfx") ||
        facts.name->find(kNoText) != std::string::npos)
        return std::nullopt;
    return without_driver(std::string{trimmed(*facts.name)});
}

/// The name "Vendor Device" from pci.ids.
std::optional<std::string> listed_name(const Subject& subject) {
    const auto* facts = facts_of(subject, "pci");
    if (!facts)
        return std::nullopt;
    const auto vendor = fact(*facts, facts::kVendorName);
    const auto& device = facts->name;
    if (vendor && device && !device->starts_with(*vendor))
        return *vendor + " " + *device;
    return device;
}

/// The vendor and the chip from the chip table, as in "Arm mali-valhall-csf"; used if the GPU would
/// otherwise have no name but its ids.
std::optional<std::string> name_by_table(const HardwareDevice& hardware) {
    const auto* chip = chip_of(hardware);
    if (!chip)
        return std::nullopt;
    if (chip->name || hardware.vendor_id)
        return chip->name;
    const auto word = vendor_of(hardware);
    const auto* vendor = word ? knowledge::Chips::current().vendor(*word) : nullptr;
    return vendor && chip->chip ? std::optional{vendor->name + " " + *chip->chip} : std::nullopt;
}

/// The name of an AMD device, by device id and revision, because one id can have several names.
std::optional<std::string> name_by_revision(const HardwareDevice& hardware) {
    constexpr std::string_view kAmd = "1002";
    if (hardware.vendor_id != kAmd || !hardware.device_id || !hardware.revision)
        return std::nullopt;
    return knowledge::AmdNames::current().find(*hardware.device_id, *hardware.revision);
}

/// The name from the most trusted API that has a name. A generic Radeon name is used only if
/// requested.
std::optional<std::string> name_by_apis(const Subject& subject, bool with_any_radeon) {
    for (const auto* api : by_trust(&ApiTrust::name))
        if (const auto* facts = facts_of(subject, api->word))
            if (auto name = marketing_name(*facts);
                name && (with_any_radeon || !is_for_any_radeon(*name)))
                return name;
    return std::nullopt;
}

/// The name from the kernel, from libdrm's table or from gpuprobe's table.
std::optional<std::string> name_by_hardware(const HardwareDevice& hardware) {
    return hardware.model ? hardware.model : name_by_revision(hardware);
}

/// Whether a name in pci.ids has a marketing name in brackets, and not only the chip's code name.
bool has_brackets(const std::optional<std::string>& name) {
    return name && name->ends_with(']');
}

}  // namespace

std::optional<std::string> vendor_of(const Subject& subject) {
    if (subject.hardware)
        return vendor_of(*subject.hardware);
    for (const auto& claim : subject.claims)
        if (claim.device.vendor)
            return claim.device.vendor;
    return std::nullopt;
}

Identity identity_of(const Subject& subject) {
    Identity identity{.nvidia_uuid = nvidia_uuid(subject),
                      .hip_unique_id = hip_unique_id(subject),
                      .drm = drm_of(subject),
                      .luid = luid_of(subject),
                      .kfd_node = kfd_node_of(subject)};
    for (const auto* api : by_trust(&ApiTrust::uuid))
        identity.uuids[place_of(api->id)] = uuid_by(subject, api->word);
    return identity;
}

void settle_uuids(std::vector<Gpu>& gpus) {
    settle(
        gpus, [](Identity & identity) -> auto& { return identity.nvidia_uuid; });
    settle(
        gpus, [](Identity & identity) -> auto& { return identity.hip_unique_id; });
    for (const auto& api : kApis)
        settle(
            gpus, [&api](Identity & identity) -> auto& {
                return identity.uuids[place_of(api.id)];
            });
    for (auto& gpu : gpus)
        gpu.identity.canonical_uuid = canonical_uuid(gpu.identity);
}

std::optional<PciInfo> pci_of(const Subject& subject) {
    if (subject.hardware)
        return subject.hardware->pci ? std::optional{pci_of(*subject.hardware)} : std::nullopt;
    // The hardware is hidden: take each value from the first API that reports it.
    PciInfo pci;
    for (const auto& claim : subject.claims) {
        const auto& device = claim.device;
        fill(pci.address, device.address);
        fill(pci.address, device.packed);
        fill(pci.vendor_id, device.facts->vendor_id);
        fill(pci.device_id, device.facts->device_id);
        fill(pci.subsystem_vendor_id, fact(*device.facts, facts::kSubsystemVendorId));
        fill(pci.subsystem_device_id, fact(*device.facts, facts::kSubsystemDeviceId));
    }
    return pci.address || pci.device_id ? std::optional{pci} : std::nullopt;
}

std::optional<std::string> name_of(const Subject& subject) {
    if (auto name = name_by_apis(subject, false))
        return name;
    if (auto name = subject.hardware ? name_by_hardware(*subject.hardware) : std::nullopt)
        return name;
    // For a GPU without its own name, pci.ids may list the names of all GPUs that share its id.
    auto listed = listed_name(subject);
    if (auto name = has_brackets(listed) ? std::nullopt : name_by_apis(subject, true))
        return name;
    if (listed)
        return listed;
    if (auto name = subject.hardware ? name_by_table(*subject.hardware) : std::nullopt)
        return name;
    const auto pci = pci_of(subject);
    if (!pci || !pci->vendor_id || !pci->device_id)
        return std::nullopt;
    return *pci->vendor_id + ":" + *pci->device_id;
}

namespace {

/// The vendor's name in pci.ids: "Advanced Micro Devices, Inc. [AMD/ATI]".
std::optional<std::string> listed_vendor(const Gpu& gpu) {
    const auto listed = gpu.apis.find("pci");
    return listed == gpu.apis.end() ? std::nullopt
                                    : fact(listed->second.device, facts::kVendorName);
}

/// The part in brackets at the end of the name or, without brackets, the name without the vendor in
/// front.
std::string_view model_in(std::string_view name, const std::optional<std::string>& vendor) {
    if (vendor && name.starts_with(*vendor + " "))
        name.remove_prefix(vendor->size() + 1);
    const auto bracket = name.rfind('[');
    return name.ends_with(']') && bracket != std::string_view::npos
               ? name.substr(bracket + 1, name.size() - bracket - 2)
               : name;
}

/// Whether the name is only "vendor:device".
bool is_ids(const Gpu& gpu) {
    return gpu.pci &&
           gpu.name == gpu.pci->vendor_id.value_or("") + ":" + gpu.pci->device_id.value_or("");
}

}  // namespace

std::optional<std::string> title_of(const Gpu& gpu) {
    if (gpu.title)
        return gpu.title;
    if (!gpu.name || is_ids(gpu))
        return std::nullopt;
    const auto model = without_signs(std::string{trimmed(model_in(*gpu.name, listed_vendor(gpu)))});
    // A virtual device isn't a product of the vendor whose id it has.
    const bool is_shown_by_host = gpu.kind == GpuKind::Virtual;
    const auto* vendor = gpu.vendor ? knowledge::Chips::current().vendor(*gpu.vendor) : nullptr;
    if (model.empty())
        return gpu.name;
    if (!vendor || is_shown_by_host ||
        lower_case(model).find(lower_case(vendor->name)) != std::string::npos)
        return model;
    return vendor->name + " " + model;
}

namespace {

constexpr std::uint32_t kFirstRenderMinor = 128;

bool lists(const Subject& subject, std::string_view api) {
    return preferred_claim(subject, api) != nullptr;
}

/// The driver that must be in use, because its libraries list the GPU.
std::optional<std::string> implied_name(const Subject& subject, const Host& host) {
    if (host.wsl)
        return std::nullopt;
    const bool is_nvidia = lists(subject, "nvml") || lists(subject, "cuda");
    if (is_nvidia && kind_of(subject) == GpuKind::Discrete)
        return "nvidia";
    return lists(subject, "hip") ? std::optional<std::string>{"amdgpu"} : std::nullopt;
}

/// NVML's record of the GPU, or of a GPU that may be identical. The record of another GPU suffices,
/// because one kernel module serves all GPUs of a machine, so they share its version.
const ApiDevice* record_of_nvml(const Subject& subject) {
    if (const auto* claim = preferred_claim(subject, "nvml"))
        return &claim->device;
    const auto twin = std::ranges::find(subject.ambiguous, "nvml",
                                        [](const ApiDevice& device) { return device.probe->api; });
    return twin == subject.ambiguous.end() ? nullptr : &*twin;
}

/// The driver version from NVML, or else from NVIDIA's Vulkan driver.
std::optional<std::string> nvidia_version(const Subject& subject) {
    if (const auto* device = record_of_nvml(subject))
        if (auto version = fact(*device->probe, runtime_facts::kDriverVersion))
            return version;
    const auto* claim = preferred_claim(subject, "vulkan");
    const bool is_own =
        claim && fact(*claim->device.facts, facts::kDriverId) == "nvidia-proprietary";
    return is_own ? fact(*claim->device.facts, facts::kDriverVersion) : std::nullopt;
}

void add_node(std::string path, std::optional<std::string> device, std::vector<DeviceNode>& nodes) {
    nodes.push_back(DeviceNode{.path = std::move(path), .device = std::move(device)});
}

/// The minor number N in "226:N"; 226 is DRM_MAJOR in the kernel source, drm_internal.h.
std::optional<std::uint32_t> drm_minor(const std::optional<std::string>& device) {
    constexpr std::string_view kMajor = "226:";
    if (!device || !device->starts_with(kMajor))
        return std::nullopt;
    return parse_number<std::uint32_t>(std::string_view{*device}.substr(kMajor.size()));
}

/// The nodes whose numbers the APIs report. Primary nodes have minor numbers below 128, render
/// nodes from 128 on.
std::vector<DeviceNode> implied_nodes(const Subject& subject) {
    std::vector<DeviceNode> nodes;
    const auto drm = identity_of(subject).drm;
    if (const auto minor = drm_minor(drm.primary); minor && *minor < kFirstRenderMinor)
        add_node("/dev/dri/card" + std::to_string(*minor), drm.primary, nodes);
    if (const auto minor = drm_minor(drm.render); minor && *minor >= kFirstRenderMinor)
        add_node("/dev/dri/renderD" + std::to_string(*minor), drm.render, nodes);
    const auto* claim = preferred_claim(subject, "nvml");
    if (const auto minor = claim ? fact(*claim->device.facts, facts::kMinorNumber) : std::nullopt)
        add_node("/dev/nvidia" + std::to_string(*minor), {}, nodes);
    return nodes;
}

}  // namespace

DriverInfo driver_of(const Subject& subject, const Host& host) {
    DriverInfo driver;
    if (const auto* hardware = subject.hardware)
        driver = {.name = hardware->driver,
                  .version = hardware->driver_version,
                  .flavour = hardware->driver_flavour};
    else
        driver.name = implied_name(subject, host);
    const bool is_nvidia =
        driver.name == "nvidia" || (host.wsl && !driver.name && vendor_of(subject) == "nvidia");
    if (is_nvidia && !driver.version)
        driver.version = nvidia_version(subject);
    return driver;
}

std::vector<DeviceNode> nodes_of(const Subject& subject, const Host& host) {
    if (subject.hardware)
        return subject.hardware->nodes;
    return host.wsl ? std::vector<DeviceNode>{} : implied_nodes(subject);
}

}  // namespace gpuprobe::inline report
