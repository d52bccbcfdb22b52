// SPDX-License-Identifier: Apache-2.0
#include "wire/sdbus.h"

#include <algorithm>
#include <cstdint>

namespace gpuprobe::bus {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// The first character of a string. `length` is 0 if the character is malformed.
struct Character {
    std::size_t length = 0;
    char32_t code = 0;
};

bool is_allowed(char32_t code) {
    const bool surrogate = code >= 0xD800 && code <= 0xDFFF;
    const bool non_character = (code >= 0xFDD0 && code <= 0xFDEF) || (code & 0xFFFE) == 0xFFFE;
    return code != 0 && code <= 0x10FFFF && !surrogate && !non_character;
}

/// Length in bytes according to the first byte; 0 if no character can start with this byte.
std::size_t announced_length(std::uint8_t lead) {
    if (lead < 0x80)
        return 1;
    if (lead >= 0xC2 && lead < 0xE0)
        return 2;
    if (lead >= 0xE0 && lead < 0xF0)
        return 3;
    return lead >= 0xF0 && lead < 0xF5 ? 4 : 0;
}

Character first_character(std::string_view text) {
    constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
    const auto lead = static_cast<std::uint8_t>(text.front());
    const auto length = announced_length(lead);
    if (length == 0 || length > text.size())
        return {};
    if (length == 1)
        return {.length = 1, .code = lead};
    char32_t code = lead & (0x7FU >> length);
    for (const char byte : text.substr(1, length - 1)) {
        const auto bits = static_cast<std::uint8_t>(byte);
        if ((bits & 0xC0) != 0x80)
            return {};
        code = (code << 6) | (bits & 0x3FU);
    }
    // The encoding is longer than necessary.
    if (code < kSmallest[length])
        return {};
    return {.length = length, .code = code};
}

/// Whether the byte is an ASCII character other than NUL. A string that contains only these bytes
/// needs no conversion.
bool is_plain(char byte) {
    return static_cast<signed char>(byte) > 0;
}

}  // namespace

std::string bus_text(std::string_view text, Bytes limit) {
    // Nearly all strings are short ASCII and need no decoding.
    if (text.size() <= limit.count && std::ranges::all_of(text, is_plain))
        return std::string{text};
    std::string clean;
    clean.reserve(std::min<std::size_t>(text.size(), limit.count));
    while (!text.empty()) {
        const auto character = first_character(text);
        // Only the malformed byte is replaced; decoding continues with the next byte.
        const auto length = std::max<std::size_t>(character.length, 1);
        const bool keep = character.length != 0 && is_allowed(character.code);
        const auto piece = keep ? text.substr(0, length) : kReplacement;
        if (clean.size() + piece.size() > limit.count)
            break;
        clean += piece;
        text.remove_prefix(length);
    }
    return clean;
}

namespace {

constexpr Bytes kMaxMessage = kib(4);

/// Standard errors for a missing service, a denied access, and wrong arguments. Source: D-Bus
/// specification and dbus/dbus-protocol.h.
constexpr NamedError kForeign[] = {
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.ServiceUnknown"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.NameHasNoOwner"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.NoReply"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.Timeout"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.TimedOut"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.Disconnected"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.NoServer"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.FileNotFound"},
    {ErrorCode::NotAuthorized, "org.freedesktop.DBus.Error.AccessDenied"},
    {ErrorCode::InvalidRequest, "org.freedesktop.DBus.Error.InvalidArgs"},
};

/// Prefixes of the errors with which a bus and the service manager report that a service cannot be
/// started: disabled, masked, failed, not permitted. Source: dbus/dbus-protocol.h,
/// DBUS_ERROR_SPAWN_*; systemd, src/libsystemd/sd-bus/bus-common-errors.h.
constexpr std::string_view kNotStarted[] = {"org.freedesktop.DBus.Error.Spawn.",
                                            "org.freedesktop.systemd1."};

ErrorCode foreign_code(std::string_view name) {
    if (const auto* entry = std::ranges::find(kForeign, name, &NamedError::name);
        entry != std::end(kForeign))
        return entry->code;
    return std::ranges::any_of(kNotStarted, [&](auto start) { return name.starts_with(start); })
               ? ErrorCode::Unavailable
               : ErrorCode::Internal;
}

}  // namespace

sdbus::Error sdbus_error(const Error& error) {
    return make_error(error_name(error.code), bus_text(error.text, kMaxMessage));
}

Error error_from(const sdbus::Error& error) {
    const std::string& name = error.getName();
    if (const auto code = error_code(name))
        return Error{*code, error.getMessage()};
    return Error{foreign_code(name), error.getMessage().empty() ? name : error.getMessage()};
}

}  // namespace gpuprobe::bus
