// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

/// Numbers and raw bytes as the hexadecimal texts that facts carry.
namespace gpuprobe::backends {

/// Four lower-case digits: a PCI vendor or device id. nullopt for 0 and for what does not fit:
/// Khronos gives vendors without PCI id numbers from 0x10000 on.
std::optional<std::string> pci_id_text(std::uint32_t id);

/// Two lower-case digits a byte, in byte order; nullopt when every byte is zero, which is what
/// drivers leave that were not asked properly.
std::optional<std::string> hexadecimal_unless_zero(std::span<const std::uint8_t> bytes);

/// The same for 16 bytes, grouped 8-4-4-4-12.
std::optional<std::string> canonical_uuid(std::span<const std::uint8_t, 16> bytes);

/// The number in that many lower-case digits, or more when it needs them.
std::string hexadecimal(std::uint64_t number, std::size_t digits);

}  // namespace gpuprobe::backends
