// SPDX-License-Identifier: Apache-2.0
#include "backends/texts.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/text.h"

namespace gpuprobe::backends {
namespace {

constexpr std::size_t kMaxLogLine = 200;

std::string digits_of(std::span<const std::uint8_t> bytes) {
    std::string text;
    for (const std::uint8_t byte : bytes)
        text += hexadecimal(byte, 2);
    return text;
}

bool are_zero(std::span<const std::uint8_t> bytes) {
    return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

}  // namespace

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
    return are_zero(bytes) ? std::nullopt : std::optional{digits_of(bytes)};
}

std::string uuid_text(std::span<const std::uint8_t, 16> bytes) {
    auto text = digits_of(bytes);
    // Insert from the end, so that the earlier positions stay valid.
    for (const std::size_t position : {20U, 16U, 12U, 8U})
        text.insert(position, 1, '-');
    return text;
}

std::optional<std::string> canonical_uuid(std::span<const std::uint8_t, 16> bytes) {
    return are_zero(bytes) ? std::nullopt : std::optional{uuid_text(bytes)};
}

std::string dotted(std::initializer_list<std::uint64_t> parts) {
    std::string text;
    for (const auto part : parts)
        text += (text.empty() ? "" : ".") + std::to_string(part);
    return text;
}

std::optional<std::string> intel_ip_text(std::uint32_t version) {
    if (version == 0)
        return std::nullopt;
    return dotted({version >> 22U, version >> 14U & 0xffU, version & 0x3fU});
}

std::string cuda_version_text(int version) {
    // The number is 1000 * major + 10 * minor.
    const auto number = static_cast<unsigned>(version);
    return dotted({number / 1000, number % 1000 / 10});
}

std::optional<std::string> gfx_target_in(std::string_view name) {
    constexpr std::string_view kHead = "gfx";
    const auto target = name.substr(0, name.find(':'));
    if (!target.starts_with(kHead))
        return std::nullopt;
    // A target has three to five digits after "gfx". Any other string is a marketing name or comes
    // from another vendor.
    const auto digits = target.substr(kHead.size());
    if (digits.size() < 3 || digits.size() > 5 ||
        digits.find_first_not_of("0123456789abcdef") != std::string_view::npos)
        return std::nullopt;
    return std::string{target};
}

std::optional<std::string> clean_text(std::string_view raw) {
    auto text = scrubbed(trimmed(raw.substr(0, raw.find('\0'))));
    return text.empty() ? std::nullopt : std::optional{std::move(text)};
}

std::string first_line(std::string_view log) {
    const auto text = trimmed(log.substr(0, log.find('\0')));
    return scrubbed(text.substr(0, text.find('\n')), kMaxLogLine);
}

std::optional<PciAddress> pci_address(std::uint32_t domain,
                                      std::uint32_t bus,
                                      std::uint32_t device,
                                      std::uint32_t function) {
    if (bus > 0xff || device > 0x1f || function > 7)
        return std::nullopt;
    return PciAddress{.domain = domain,
                      .bus = static_cast<std::uint8_t>(bus),
                      .device = static_cast<std::uint8_t>(device),
                      .function = static_cast<std::uint8_t>(function)};
}

std::optional<PciAddress> pci_address_unless_zero(std::uint32_t domain,
                                                  std::uint32_t bus,
                                                  std::uint32_t device,
                                                  std::uint32_t function) {
    const bool is_zero = (domain | bus | device | function) == 0;
    return is_zero ? std::nullopt : pci_address(domain, bus, device, function);
}

Value unless_zero(std::uint64_t number) {
    return number > 0 ? Value{number} : Value{};
}

std::optional<std::string> word_for(std::span<const NumberWord> words, std::int64_t number) {
    const auto found = std::ranges::find(words, number, &NumberWord::number);
    return found == words.end() ? std::nullopt : std::optional{std::string{found->word}};
}

std::string word_or_number(std::span<const NumberWord> words, std::uint32_t number) {
    return word_for(words, number).value_or(std::to_string(number));
}

Value words_of_bits(std::span<const NumberWord> words, std::uint64_t bits) {
    Value::Array found;
    for (const auto& [bit, word] : words)
        if ((bits & static_cast<std::uint64_t>(bit)) != 0)
            found.push_back(Value{word});
    return Value{std::move(found)};
}

}  // namespace gpuprobe::backends
