// SPDX-License-Identifier: Apache-2.0
#include "report/api_device.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/text.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/hardware.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::size_t kUniqueIdDigits = 16;
constexpr std::uint32_t kMaxBus = 255;

/// The digits of a UUID or serial number; nullopt if their count is not `digits`.
std::optional<std::string> hexadecimal(std::string_view text, std::size_t digits) {
    auto found = uuid_digits(text);
    return found && found->size() == digits ? std::move(found) : std::nullopt;
}

/// Prefixes digits with the driver family, so that UUIDs of different families never match.
std::optional<std::string> keyed(std::string_view family, std::optional<std::string> digits) {
    if (!digits)
        return std::nullopt;
    return std::string{family} + ":" + *digits;
}

using UuidBytes = std::array<std::uint8_t, kUuidDigits / 2>;

std::optional<UuidBytes> bytes_of(std::string_view uuid) {
    const auto digits = hexadecimal(uuid, kUuidDigits);
    if (!digits)
        return std::nullopt;
    UuidBytes bytes{};
    for (std::size_t i = 0; i < bytes.size(); ++i)
        bytes[i] =
            parse_number<std::uint8_t>(std::string_view{*digits}.substr(2 * i, 2), 16).value_or(0);
    return bytes;
}

/// Reads a little-endian number. AMD's numbers are in the machine's byte order, which is
/// little-endian on every machine that the drivers run on.
std::uint32_t little_endian(const UuidBytes& bytes, std::size_t at, std::size_t size) {
    std::uint32_t number = 0;
    for (std::size_t i = size; i-- > 0;)
        number = number << 8 | bytes[at + i];
    return number;
}

/// The address; nullopt if a number is out of range, because the UUID then encodes other data.
std::optional<PciAddress> checked(std::uint32_t domain,
                                  std::uint32_t bus,
                                  std::uint32_t device,
                                  std::uint32_t function) {
    if (bus > kMaxBus || device > kMaxPciDevice || function > kMaxPciFunction)
        return std::nullopt;
    return PciAddress{.domain = domain,
                      .bus = static_cast<std::uint8_t>(bus),
                      .device = static_cast<std::uint8_t>(device),
                      .function = static_cast<std::uint8_t>(function)};
}

std::optional<PciAddress> amd_address(const UuidBytes& bytes) {
    return checked(little_endian(bytes, 0, 4), little_endian(bytes, 4, 4),
                   little_endian(bytes, 8, 4), little_endian(bytes, 12, 4));
}

std::optional<PciAddress> intel_address(const UuidBytes& bytes) {
    constexpr std::uint32_t kIntel = 0x8086;
    // On some kernels, UUIDs of Ponte Vecchio and DG2 contain telemetry ids instead.
    if (little_endian(bytes, 0, 2) != kIntel)
        return std::nullopt;
    return checked(little_endian(bytes, 6, 2), bytes[8], bytes[9], bytes[10]);
}

/// The address that AMD's and Intel's drivers encode in their UUIDs. AMD: four native-endian u32
/// (domain, bus, device, function). Intel: vendor, device, revision and domain as little-endian
/// u16, then bus, device, function (compute-runtime, generateUuidFromPciBusInfo). nullopt if the
/// UUID does not contain a valid address.
std::optional<PciAddress> packed_address(const ApiDevice& device) {
    // HIP returns the serial number, which does not encode an address.
    const bool may_pack = device.probe->api != "hip" && device.facts->uuid;
    const auto bytes = may_pack ? bytes_of(*device.facts->uuid) : std::nullopt;
    if (!bytes)
        return std::nullopt;
    if (device.vendor == "amd")
        return amd_address(*bytes);
    if (device.vendor == "intel")
        return intel_address(*bytes);
    return std::nullopt;
}

}  // namespace

std::optional<std::string> uuid_digits(std::string_view text) {
    auto digits = lower_case(trimmed(text));
    if (digits.starts_with("gpu-"))
        digits.erase(0, 4);
    std::erase(digits, '-');
    const bool has_length = digits.size() == kUuidDigits || digits.size() == kUniqueIdDigits;
    const bool is_hexadecimal = digits.find_first_not_of("0123456789abcdef") == std::string::npos;
    const bool is_blank = digits.find_first_not_of('0') == std::string::npos ||
                          digits.find_first_not_of('f') == std::string::npos;
    return has_length && is_hexadecimal && !is_blank ? std::optional{digits} : std::nullopt;
}

std::optional<std::string> family_uuid(const ApiDevice& device) {
    if (!device.facts->uuid || !device.vendor)
        return std::nullopt;
    // NVK and NVIDIA's driver compute different UUIDs, so they must not share a family.
    if (*device.vendor == "nvidia" && !is_nvk(device))
        return keyed("nvidia", hexadecimal(*device.facts->uuid, kUuidDigits));
    if (*device.vendor == "intel")
        return keyed("intel", hexadecimal(*device.facts->uuid, kUuidDigits));
    if (device.probe->api == "hip")
        return keyed("amd", hexadecimal(*device.facts->uuid, kUniqueIdDigits));
    return std::nullopt;
}

std::optional<std::string> family_uuid(const HardwareDevice& device) {
    if (!device.uuid)
        return std::nullopt;
    const auto vendor = vendor_of(device);
    // Only NVIDIA's own kernel driver provides the UUID that its APIs return.
    if (vendor == "nvidia" && device.driver == "nvidia")
        return keyed("nvidia", hexadecimal(*device.uuid, kUuidDigits));
    if (vendor == "amd")
        return keyed("amd", hexadecimal(*device.uuid, kUniqueIdDigits));
    return std::nullopt;
}

namespace {

/// The columns are the prefix of the manifest's name, the vendor, the kernel drivers, and whether
/// the driver is a software implementation.
constexpr std::array kManifests = std::to_array<KnownDriver>({
    {"amd", "amd", "amdgpu"},
    {"asahi", "apple", "asahi"},
    {"broadcom", "broadcom", "v3d vc4"},
    {"freedreno", "qualcomm", "msm"},
    {"gfxstream", "virtio", "virtio-pci virtio_gpu"},
    {"intel", "intel", "i915 xe"},
    {"lvp", "", "", true},
    {"neo", "intel", "i915 xe"},
    {"nouveau", "nvidia", "nouveau"},
    {"nvidia", "nvidia", "nvidia nvgpu gk20a tegra"},
    {"panfrost", "arm", "panfrost panthor"},
    {"pocl", "", "", true},
    {"powervr", "imagination", "powervr pvr pvrsrvkm"},
    {"radeon", "amd", "amdgpu"},
    {"rocm", "amd", "amdgpu"},
    {"swiftshader", "", "", true},
    {"virtio", "virtio", "virtio-pci virtio_gpu"},
    {"vk_swiftshader", "", "", true},
});

/// Rank of a driver that has no row below.
constexpr int kPlain = 10;
struct Preference {
    std::string_view word;
    int rank;
};
// The first match counts, because the words of a layered driver can also name the driver below it.
constexpr std::array kPreferences = std::to_array<Preference>({
    {"dozen", 100},
    {"dzn", 100},
    {"clvk", 90},
    {"pocl", 90},
    {"portable computing language", 90},
    {"rusticl", 30},
    {"nvk", 20},
    {"nouveau", 20},
    {"turnip", 12},
    {"freedreno", 12},
    {"radv", 1},
    {"amd-open-source", 2},
    {"amdvlk", 2},
    {"amd-proprietary", 3},
    {"radeon", 1},
});

bool mentions(std::string_view text, std::string_view word) {
    return text.find(word) != std::string_view::npos;
}

}  // namespace

std::string_view file_name(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

KnownDriver known_driver(const ProbeResult& probe) {
    return known_driver(probe.api, probe.driver);
}

KnownDriver known_driver(std::string_view word, std::string_view driver) {
    // CUDA, HIP and other APIs of one vendor have no manifests.
    if (const auto* api = find_api(word); api && !api->vendor.empty())
        return {.vendor = api->vendor, .kernel_drivers = api->kernel_drivers};
    const auto name = lower_case(file_name(driver));
    for (const auto& manifest : kManifests)
        if (name.starts_with(manifest.prefix))
            return manifest;
    return {};
}

bool is_nvk(const ApiDevice& device) {
    const auto words = driver_words(device);
    const auto name = device.facts->name.value_or("");
    return mentions(words, "nvk") || mentions(words, "nouveau") || mentions(name, "NVK");
}

bool is_software(const ApiDevice& device) {
    const auto& facts = *device.facts;
    // 0x10005 is VK_VENDOR_ID_MESA, which only Mesa's software renderers use.
    if (facts.type == DeviceType::Cpu || facts.vendor_id == "10005")
        return true;
    const auto words = driver_words(device);
    const auto text = words + " " + lower_case(facts.name.value_or(""));
    constexpr std::array kRenderers =
        std::to_array<std::string_view>({"llvmpipe", "lavapipe", "softpipe", "swiftshader",
                                         "software rasterizer", "microsoft basic render"});
    if (std::ranges::any_of(kRenderers, [&](auto word) { return mentions(text, word); }))
        return true;
    // pocl also drives GPUs, and reports them as discrete or integrated.
    const bool is_typed =
        facts.type == DeviceType::Discrete || facts.type == DeviceType::Integrated;
    return !is_typed && (mentions(words, "pocl") || mentions(words, "portable computing language"));
}

int preference_of(const ApiDevice& device) {
    const auto words = driver_words(device);
    for (const auto& preference : kPreferences)
        if (mentions(words, preference.word))
            return preference.rank;
    return kPlain;
}

namespace {

/// The vendor according to the PCI id, or else according to the API or driver.
std::optional<std::string> vendor_of(const ProbeResult& probe, const DeviceFacts& facts) {
    if (facts.vendor_id) {
        auto word = vendor_word(*facts.vendor_id);
        return word ? word : vendor_of_api(probe.api);
    }
    const auto vendor = known_driver(probe).vendor;
    // A paravirtual driver passes through the host's GPU, which may be from any vendor.
    const bool is_specific = !vendor.empty() && vendor != "virtio";
    return is_specific ? std::optional<std::string>{vendor} : std::nullopt;
}

/// The reported address, unless it is implausibly all zero: an API that does not know the address
/// often reports zeros. Zeros are accepted only if hardware of that vendor really is at
/// 0000:00:00.0.
std::optional<PciAddress> plausible_address(const Machine& machine, const ApiDevice& device) {
    const auto& address = device.facts->pci;
    if (!address || *address != PciAddress{})
        return address;
    for (const auto& hardware : machine.devices)
        if (hardware.pci == address && device.vendor && vendor_of(hardware) == device.vendor)
            return address;
    return std::nullopt;
}

/// The LUID as 16 lower-case digits; nullopt if it is malformed or all zero.
std::optional<std::string> luid_of(const DeviceFacts& facts) {
    const auto luid = fact(facts, facts::kLuid);
    if (!luid || luid->size() != 16)
        return std::nullopt;
    return uuid_digits(*luid);
}

ApiDevice described(const Machine& machine, const ProbeResult& probe, const DeviceFacts& facts) {
    ApiDevice device{.probe = &probe, .facts = &facts};
    device.vendor = vendor_of(probe, facts);
    device.address = plausible_address(machine, device);
    device.packed = packed_address(device);
    device.uuid = family_uuid(device);
    device.luid = luid_of(facts);
    return device;
}

/// Removes UUIDs that several devices of a probe share. Some drivers give every card of a model the
/// same UUID (NVK up to Mesa 24.1), so that the UUID neither identifies a device nor encodes an
/// address.
void drop_shared_uuids(std::vector<ApiDevice>& devices) {
    std::map<std::pair<const ProbeResult*, std::string>, int> uses;
    const auto key = [](const ApiDevice& device) {
        return std::pair{device.probe, uuid_digits(device.facts->uuid.value_or("")).value_or("")};
    };
    for (const auto& device : devices)
        ++uses[key(device)];
    for (auto& device : devices)
        if (uses[key(device)] > 1) {
            device.uuid.reset();
            device.packed.reset();
        }
}

/// The devices sorted by content, so that the worker's order does not change the report.
std::vector<const DeviceFacts*> sorted_devices(const ProbeResult& probe) {
    std::vector<const DeviceFacts*> sorted;
    for (const auto& facts : probe.devices)
        sorted.push_back(&facts);
    std::ranges::sort(sorted, {},
                      [](const DeviceFacts* facts) -> const DeviceFacts& { return *facts; });
    return sorted;
}

/// Whether the left answer is older. If two answers have the same time, their content decides, so
/// that their order in the list does not matter.
bool is_older(const ProbeResult& left, const ProbeResult& right) {
    return std::tie(left.at, left) < std::tie(right.at, right);
}

}  // namespace

std::vector<const ProbeResult*> sorted_probes(const std::vector<ProbeResult>& probes) {
    using Key = std::tuple<std::string, std::string, std::string, std::optional<std::string>>;
    std::map<Key, const ProbeResult*> newest;
    for (const auto& probe : probes) {
        auto& known = newest[{probe.api, probe.driver, probe.stage, probe.device}];
        // Of several probes with the same key, keep the newest.
        if (!known || is_older(*known, probe))
            known = &probe;
    }
    std::vector<const ProbeResult*> sorted;
    for (const auto& [key, probe] : newest)
        sorted.push_back(probe);
    return sorted;
}

std::vector<ApiDevice> listed_devices(const Machine& machine,
                                      const std::vector<const ProbeResult*>& probes) {
    std::vector<ApiDevice> devices;
    for (const auto* probe : probes) {
        if (probe->stage != "query")
            continue;
        for (const auto* facts : sorted_devices(*probe))
            devices.push_back(described(machine, *probe, *facts));
    }
    drop_shared_uuids(devices);
    return devices;
}

std::string driver_words(const ApiDevice& device) {
    std::string text{file_name(device.probe->driver)};
    for (const auto key :
         {facts::kDriverName, facts::kDriverId, facts::kDriverInfo, facts::kPlatformName})
        if (const auto words = fact(*device.facts, key))
            text += " " + *words;
    return lower_case(text);
}

}  // namespace gpuprobe::inline report
