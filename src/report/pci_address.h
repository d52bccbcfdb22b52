// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

namespace gpuprobe::inline report {

/// Where a function sits on PCI. Domains are 32 bits wide (VMD and Hyper-V use more than 16).
struct PciAddress {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0;
    std::uint8_t device = 0;    ///< 0–31
    std::uint8_t function = 0;  ///< 0–7
    auto operator<=>(const PciAddress&) const = default;
};

constexpr std::uint8_t kMaxPciDevice = 31;
constexpr std::uint8_t kMaxPciFunction = 7;

/// "0000:00:06.0": lower case, at least four digits of domain.
std::string text_of(const PciAddress& address);

/// Reads every spelling seen in the field: any width of domain or none, upper case, a missing
/// function (0), the prefix "pci:" or "PCI-E,", and a bus that went through a signed char
/// ("ffffffc1"). nullopt for anything else. All zero is an address here; whether an API meant it is
/// for the caller.
std::optional<PciAddress> parse_text(std::string_view text, std::type_identity<PciAddress>);

}  // namespace gpuprobe::inline report
