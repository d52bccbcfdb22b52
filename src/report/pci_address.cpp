// SPDX-License-Identifier: Apache-2.0
#include "report/pci_address.h"

#include <cstdio>

#include "base/text.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::size_t kMaxDomainDigits = 16;  // some programs pad the domain to pointer width

/// Removes the prefix "pci:" or "PCI-E,", which NVML-based tools and clinfo print.
std::string_view without_prefix(std::string_view text) {
    for (const std::string_view prefix : {"pci:", "pci-e,"})
        if (lower_case(text.substr(0, prefix.size())) == prefix)
            return trimmed(text.substr(prefix.size()));
    return text;
}

/// Parses a bus: two digits, or eight if a bus above 7f was printed as a sign-extended char.
std::optional<std::uint8_t> bus_from(std::string_view text) {
    if (text.size() == 8 && lower_case(text.substr(0, 6)) == "ffffff") {
        const auto bus = parse_number<std::uint8_t>(text.substr(6), 16);
        return bus && *bus >= 0x80 ? bus : std::nullopt;
    }
    return text.size() == 2 ? parse_number<std::uint8_t>(text, 16) : std::nullopt;
}

std::optional<std::uint32_t> domain_from(std::string_view text) {
    return text.size() <= kMaxDomainDigits ? parse_number<std::uint32_t>(text, 16) : std::nullopt;
}

/// Parses a hexadecimal number that has at most `digits` digits and isn't greater than `limit`.
std::optional<std::uint8_t> limited(std::string_view text, std::size_t digits, std::uint8_t limit) {
    if (text.size() > digits)
        return std::nullopt;
    const auto number = parse_number<std::uint8_t>(text, 16);
    return number && *number <= limit ? number : std::nullopt;
}

}  // namespace

std::string text_of(const PciAddress& address) {
    char text[32] = {};
    std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", address.domain, address.bus,
                  address.device, address.function);
    return text;
}

std::optional<PciAddress> parse_text(std::string_view text, std::type_identity<PciAddress>) {
    const auto pieces = split(without_prefix(trimmed(text)), ':');
    if (pieces.size() < 2 || pieces.size() > 3)
        return std::nullopt;
    // The last piece is device and function; before it are the bus and, optionally, the domain.
    const auto slot = pieces.back();
    const auto dot = slot.find('.');
    const auto function_text = dot == std::string_view::npos ? "0" : slot.substr(dot + 1);
    const auto device_text = slot.substr(0, dot);

    const auto domain = pieces.size() == 3 ? domain_from(pieces.front()) : 0U;
    const auto bus = bus_from(pieces[pieces.size() - 2]);
    const auto device =
        device_text.size() == 2 ? limited(device_text, 2, kMaxPciDevice) : std::nullopt;
    const auto function = limited(function_text, 2, kMaxPciFunction);
    if (!domain || !bus || !device || !function)
        return std::nullopt;
    return PciAddress{.domain = *domain, .bus = *bus, .device = *device, .function = *function};
}

}  // namespace gpuprobe::inline report
