// SPDX-License-Identifier: Apache-2.0
#include "wire/errors.h"

#include <algorithm>

#include "wire/text.h"

namespace gpuprobe::bus {
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
