// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/value.h"
#include "report/pci_address.h"

/// Converts the numbers, raw bytes and strings that drivers report into the form that facts use.
namespace gpuprobe::backends {

/// The number in lower-case hexadecimal, padded with zeros to at least `digits` digits.
std::string hexadecimal(std::uint64_t number, std::size_t digits);

/// A PCI vendor or device id as four lower-case digits. nullopt for 0 and for numbers of more than
/// 16 bits: Khronos assigns numbers from 0x10000 to vendors without a PCI id.
std::optional<std::string> pci_id_text(std::uint32_t id);

/// Two lower-case hexadecimal digits per byte, in byte order. nullopt if every byte is zero:
/// drivers leave zeros if they do not know the value.
std::optional<std::string> hexadecimal_unless_zero(std::span<const std::uint8_t> bytes);
/// A UUID as a string: 16 bytes in hexadecimal, grouped 8-4-4-4-12. The UUID may consist of zeros.
std::string uuid_text(std::span<const std::uint8_t, 16> bytes);
/// Like uuid_text(), but nullopt if every byte is zero.
std::optional<std::string> canonical_uuid(std::span<const std::uint8_t, 16> bytes);

/// A version string, such as "1.3.277" for 1, 3 and 277.
std::string dotted(std::initializer_list<std::uint64_t> parts);
/// Intel's packed IP version as a string ("20.4.4"): architecture in the top 10 bits, release in
/// the next 8, revision in the lowest 6. nullopt for 0. Source: compute-runtime,
/// shared/source/helpers/hw_ip_version.h.
std::optional<std::string> intel_ip_text(std::uint32_t version);
/// A CUDA version as a string, such as "12.4" for 12040. Source: CUDA Driver API,
/// cuDriverGetVersion.
std::string cuda_version_text(int version);
/// The gfx target in a device name, such as "gfx90a" for "gfx90a:sramecc+:xnack-". nullopt if the
/// name isn't an AMD target.
std::optional<std::string> gfx_target_in(std::string_view name);

/// The string up to the first NUL or the end of the array, scrubbed and without surrounding white
/// space; nullopt if nothing is left.
std::optional<std::string> clean_text(std::string_view raw);
/// The string that a C function writes into a buffer. `write` receives the buffer and its length.
/// nullopt if `write` returns a code other than 0 or writes nothing.
template <class Write>
std::optional<std::string> written_text(const Write& write) {
    std::array<char, 256> buffer = {};
    if (write(buffer.data(), static_cast<int>(buffer.size() - 1)) != 0)
        return std::nullopt;
    return clean_text(buffer.data());
}
/// The first line of a compiler log, shortened to fit into a report.
std::string first_line(std::string_view log);

/// A PCI address; nullopt if the bus, device or function number is out of range.
std::optional<PciAddress> pci_address(std::uint32_t domain,
                                      std::uint32_t bus,
                                      std::uint32_t device,
                                      std::uint32_t function);
/// Like pci_address(), but also nullopt for 0000:00:00.0, which some drivers report for an unknown
/// address.
std::optional<PciAddress> pci_address_unless_zero(std::uint32_t domain,
                                                  std::uint32_t bus,
                                                  std::uint32_t device,
                                                  std::uint32_t function);

/// The number as a value; null for 0, which drivers report for an unknown number.
Value unless_zero(std::uint64_t number);

/// An entry of a table that translates an API's numbers to words.
struct NumberWord {
    std::int64_t number = 0;
    std::string_view word = {};
};
/// The name of a number in the table; nullopt if the table does not contain the number.
std::optional<std::string> word_for(std::span<const NumberWord> words, std::int64_t number);
/// The name of a number, or the number in decimal if the table does not contain the number.
std::string word_or_number(std::span<const NumberWord> words, std::uint32_t number);
/// The names of the bits that are set, in the order of the table. Bits without a name are left out.
Value words_of_bits(std::span<const NumberWord> words, std::uint64_t bits);

}  // namespace gpuprobe::backends
