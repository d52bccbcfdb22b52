// SPDX-License-Identifier: Apache-2.0
#include "engine/redaction.h"

#include <algorithm>
#include <cstdint>

#include "base/parse.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kUniqueIdLength = 16;

bool is_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_dash_place(std::size_t place) {
    return place == 8 || place == 13 || place == 18 || place == 23;
}

bool is_uuid(std::string_view text) {
    if (text.size() < kUuidLength)
        return false;
    for (std::size_t i = 0; i < kUuidLength; ++i)
        if (is_dash_place(i) ? text[i] != '-' : !is_digit(text[i]))
            return false;
    return text.size() == kUuidLength || !is_digit(text[kUuidLength]);
}

/// Sixteen hexadecimal digits that are no part of a longer word: how amdgpu and ROCm name a card.
/// The addresses of a PCI `resource` line have the same length, after "0x".
bool is_unique_id(std::string_view text, char before) {
    if (text.size() < kUniqueIdLength || is_digit(before) || before == 'x')
        return false;
    const auto word = text.substr(0, kUniqueIdLength);
    return std::ranges::all_of(word, is_digit) &&
           (text.size() == kUniqueIdLength || !is_digit(text[kUniqueIdLength]));
}

/// The number that ends `before` the text with "unique_id ": KFD's properties write the serial of a
/// card in decimal (drivers/gpu/drm/amd/amdkfd/kfd_topology.c). "" when there is none.
std::string_view decimal_unique_id(std::string_view before, std::string_view text) {
    if (!before.ends_with("unique_id "))
        return {};
    return text.substr(0, text.find_first_not_of("0123456789"));
}

/// As amdgpu writes the same serial.
std::string unique_id_of(std::uint64_t number) {
    std::string digits(kUniqueIdLength, '0');
    for (auto digit = digits.rbegin(); number != 0; ++digit, number >>= 4)
        *digit = "0123456789abcdef"[number & 0xF];
    return digits;
}

std::string padded(unsigned number, std::size_t length) {
    auto digits = std::to_string(number);
    return std::string(length - digits.size(), '0') + digits;
}

}  // namespace

unsigned Redaction::number_of(std::string_view identifier) {
    const auto next = static_cast<unsigned>(known_.size()) + 1;
    return known_.try_emplace(lower_case(identifier), next).first->second;
}

std::string Redaction::stand_in(std::string_view unique_id) {
    return "a" + padded(number_of(unique_id), kUniqueIdLength - 1);
}

std::string Redaction::masked(std::string_view text) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const auto rest = text.substr(at);
        const char before = at == 0 ? ' ' : text[at - 1];
        const auto decimal = decimal_unique_id(text.substr(0, at), rest);
        const auto serial = parse_number<std::uint64_t>(decimal);
        if (serial && *serial != 0) {
            clean += std::to_string(*parse_hex<std::uint64_t>(stand_in(unique_id_of(*serial))));
            at += decimal.size();
        } else if (!is_digit(before) && is_uuid(rest)) {
            clean +=
                "00000000-0000-4000-8000-" + padded(number_of(rest.substr(0, kUuidLength)), 12);
            at += kUuidLength;
        } else if (is_unique_id(rest, before)) {
            clean += stand_in(rest.substr(0, kUniqueIdLength));
            at += kUniqueIdLength;
        } else {
            clean += text[at++];
        }
    }
    return clean;
}

Value Redaction::masked_document(Value document) {
    if (const auto* text = document.as_string())
        return masked(*text);
    if (auto* items = document.as_array())
        for (auto& item : *items)
            item = masked_document(std::move(item));
    if (auto* members = document.as_object())
        for (auto& member : *members)
            member.value = masked_document(std::move(member.value));
    return document;
}

}  // namespace gpuprobe
