// SPDX-License-Identifier: Apache-2.0
#include "policy/manifest_reading.h"

#include <algorithm>

namespace gpuprobe::inline policy {
namespace {

constexpr std::size_t kMaxUrl = 2048;

bool is_alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/// Whether a URL may contain the character; RFC 3986 excludes the others.
bool is_url_character(char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '<' && c != '>' && c != '\\' && c != '^' &&
           c != '`' && c != '{' && c != '|' && c != '}';
}

/// The position of the host in a URL with a supported scheme; npos for other schemes.
std::size_t host_of(std::string_view url) {
    for (const std::string_view scheme : {"https://", "http://"})
        if (url.starts_with(scheme))
            return scheme.size();
    return std::string_view::npos;
}

}  // namespace

bool is_label(std::string_view text) {
    constexpr std::size_t kMaxLabel = 128;
    constexpr std::string_view kOthers = "_.+:/-";
    return !text.empty() && text.size() <= kMaxLabel && is_alphanumeric(text.front()) &&
           std::ranges::all_of(text, [kOthers](char c) {
               return is_alphanumeric(c) || kOthers.find(c) != std::string_view::npos;
           });
}

ReadProblem read_plain_text(const Value& value, std::string& out, std::size_t limit) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    if (text->size() > limit)
        return ReadProblem{"more than " + std::to_string(limit) + " bytes"};
    // Texts are shown in terminals, so reject what scrubbed() would change.
    if (scrubbed(*text, limit) != *text)
        return "has control characters";
    out = *text;
    return {};
}

ReadProblem check_sha256(const Value& value) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    const bool is_hash = text->size() == 64 && std::ranges::all_of(*text, [](char c) {
                             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
                         });
    if (!is_hash)
        return "not 64 lower-case hexadecimal digits";
    if (text->find_first_not_of('0') == std::string::npos)
        return "a placeholder: all zero";
    return {};
}

ReadProblem check_url(const Value& value) {
    const auto* text = value.as_string();
    if (!text)
        return wrong_type(value, "string");
    if (text->size() > kMaxUrl)
        return ReadProblem{"more than " + std::to_string(kMaxUrl) + " bytes"};
    const auto host = host_of(*text);
    if (host == std::string::npos)
        return "neither an https nor an http URL";
    // The host must not be empty.
    if (text->size() == host || (*text)[host] == '/' ||
        !std::ranges::all_of(*text, is_url_character))
        return "not a URL";
    return {};
}

std::string path_part(std::string_view key) {
    constexpr std::size_t kMaxPart = 64;
    const bool is_plain =
        !key.empty() && key.size() <= kMaxPart &&
        std::ranges::all_of(key, [](char c) { return is_alphanumeric(c) || c == '_' || c == '-'; });
    return is_plain ? std::string{key} : "[\"" + scrubbed(key, kMaxPart) + "\"]";
}

}  // namespace gpuprobe::inline policy
