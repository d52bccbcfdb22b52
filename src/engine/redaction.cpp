// SPDX-License-Identifier: Apache-2.0
#include "engine/redaction.h"

#include <algorithm>

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

std::string padded(unsigned number, std::size_t length) {
    auto digits = std::to_string(number);
    return std::string(length - digits.size(), '0') + digits;
}

}  // namespace

std::string Redaction::masked(std::string_view text) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const auto rest = text.substr(at);
        const char before = at == 0 ? ' ' : text[at - 1];
        const bool uuid = !is_digit(before) && is_uuid(rest);
        if (!uuid && !is_unique_id(rest, before)) {
            clean += text[at++];
            continue;
        }
        const auto length = uuid ? kUuidLength : kUniqueIdLength;
        const auto next = static_cast<unsigned>(known_.size()) + 1;
        const auto number =
            known_.try_emplace(lower_case(rest.substr(0, length)), next).first->second;
        clean += uuid ? "00000000-0000-4000-8000-" + padded(number, 12) : "a" + padded(number, 15);
        at += length;
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
