// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace gpuprobe::inline report {

/// Address of a PCI function. Domains are 32 bits wide (VMD and Hyper-V use more than 16).
struct PciAddress {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0;
    std::uint8_t device = 0;    ///< device number, 0–31
    std::uint8_t function = 0;  ///< function number, 0–7
    auto operator<=>(const PciAddress&) const = default;
};

constexpr std::uint8_t kMaxPciDevice = 31;
constexpr std::uint8_t kMaxPciFunction = 7;

/// Formats an address as "0000:00:06.0": lower case, with at least four digits of domain.
std::string text_of(const PciAddress& address);

/// Parses every spelling seen in practice: a domain of any width or no domain, upper case, no
/// function (which means 0), the prefix "pci:" or "PCI-E,", and a bus that was printed as a signed
/// char ("ffffffc1"). nullopt for anything else. An all-zero address is valid here; the caller
/// decides whether the API meant it.
std::optional<PciAddress> parse_text(std::string_view text, std::type_identity<PciAddress>);
/// The form in which text_of() writes an address.
constexpr std::string_view pattern_of(std::type_identity<PciAddress>) {
    return "^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-1][0-9a-f]\\.[0-7]$";
}

}  // namespace gpuprobe::inline report
