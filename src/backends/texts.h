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

/// What drivers say, numbers and raw bytes and texts, in the form that facts carry.
namespace gpuprobe::backends {

/// The number in that many lower-case digits, or more when it needs them.
std::string hexadecimal(std::uint64_t number, std::size_t digits);

/// Four lower-case digits: a PCI vendor or device id. nullopt for 0 and for what does not fit:
/// Khronos gives vendors without PCI id numbers from 0x10000 on.
std::optional<std::string> pci_id_text(std::uint32_t id);

/// Two lower-case digits a byte, in byte order; nullopt when every byte is zero, which is what
/// drivers leave in place when they do not know.
std::optional<std::string> hexadecimal_unless_zero(std::span<const std::uint8_t> bytes);
/// 16 bytes in the same way, grouped 8-4-4-4-12; also zeros.
std::string uuid_text(std::span<const std::uint8_t, 16> bytes);
/// The same; nullopt when every byte is zero.
std::optional<std::string> canonical_uuid(std::span<const std::uint8_t, 16> bytes);

/// "1.3.277" of 1, 3 and 277.
std::string dotted(std::initializer_list<std::uint64_t> parts);
/// "20.4.4" of Intel's packed IP version: 10 bits of architecture, 8 of release and, at the bottom,
/// 6 of revision; nullopt for 0. Source: compute-runtime, shared/source/helpers/hw_ip_version.h.
std::optional<std::string> intel_ip_text(std::uint32_t version);
/// "12.4" of 12040. Source: CUDA Driver API, cuDriverGetVersion.
std::string cuda_version_text(int version);
/// "gfx90a" of "gfx90a:sramecc+:xnack-"; nullopt when the name is no AMD target.
std::optional<std::string> gfx_target_in(std::string_view name);

/// A text up to its first NUL or to the end of its array, without white space around it; nullopt
/// when nothing is left.
std::optional<std::string> clean_text(std::string_view raw);
/// The text that a function writes into a buffer of a given length; nullopt when it returns
/// anything but 0, or writes nothing.
template <class Write>
std::optional<std::string> written_text(const Write& write) {
    std::array<char, 256> buffer = {};
    if (write(buffer.data(), static_cast<int>(buffer.size() - 1)) != 0)
        return std::nullopt;
    return clean_text(buffer.data());
}
/// What a compiler complained about first, cut to a line of a report.
std::string first_line(std::string_view log);

/// nullopt when a number does not fit an address.
std::optional<PciAddress> pci_address(std::uint32_t domain,
                                      std::uint32_t bus,
                                      std::uint32_t device,
                                      std::uint32_t function);
/// The same for drivers that say zero where they do not know: all zeros are nullopt too.
std::optional<PciAddress> pci_address_unless_zero(std::uint32_t domain,
                                                  std::uint32_t bus,
                                                  std::uint32_t device,
                                                  std::uint32_t function);

/// Null for 0, which is what drivers say where they do not know.
Value unless_zero(std::uint64_t number);

/// An entry of a table that gives an API's numbers their words.
struct NumberWord {
    std::int64_t number = 0;
    std::string_view word = {};
};
std::optional<std::string> word_for(std::span<const NumberWord> words, std::int64_t number);
std::string word_or_number(std::span<const NumberWord> words, std::uint32_t number);
/// The words of the bits that are set, in the order of the table; other bits are left out.
Value words_of_bits(std::span<const NumberWord> words, std::uint64_t bits);

}  // namespace gpuprobe::backends
