// SPDX-License-Identifier: Apache-2.0
#include "backends/hexadecimal.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gpuprobe::backends {

std::string hexadecimal(std::uint64_t number, std::size_t digits) {
    std::array<char, 16> buffer{};
    const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, 16).ptr;
    const auto length = static_cast<std::size_t>(end - buffer.data());
    return std::string(digits - std::min(digits, length), '0') + std::string{buffer.data(), length};
}

std::optional<std::string> pci_id_text(std::uint32_t id) {
    if (id == 0 || id > 0xffff)
        return std::nullopt;
    return hexadecimal(id, 4);
}

std::optional<std::string> hexadecimal_unless_zero(std::span<const std::uint8_t> bytes) {
    if (std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 0; }))
        return std::nullopt;
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += hexadecimal(byte, 2);
    return text;
}

std::optional<std::string> canonical_uuid(std::span<const std::uint8_t, 16> bytes) {
    auto text = hexadecimal_unless_zero(bytes);
    if (text)
        for (const std::size_t position : {20U, 16U, 12U, 8U})
            text->insert(position, 1, '-');
    return text;
}

}  // namespace gpuprobe::backends
