// SPDX-License-Identifier: Apache-2.0
#include "report/uuid.h"

#include <array>

#include "base/text.h"
#include "report/driver_table.h"
#include "report/vendor.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::size_t kUniqueIdDigits = 16;
constexpr std::uint32_t kMaxBus = 255;

/// The digits of a UUID or serial number of exactly that length.
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

/// Reads a little-endian number. AMD's native-endian numbers are little-endian too, as is every
/// machine that these drivers run on.
std::uint32_t little_endian(const UuidBytes& bytes, std::size_t at, std::size_t size) {
    std::uint32_t number = 0;
    for (std::size_t i = size; i-- > 0;)
        number = number << 8 | bytes[at + i];
    return number;
}

/// An address, unless a number is out of range, in which case the UUID encodes something else.
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
    // NVK computes other UUIDs than NVIDIA's driver, so they must not share the family.
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

}  // namespace gpuprobe::inline report
