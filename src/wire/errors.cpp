// SPDX-License-Identifier: Apache-2.0
#include "wire/errors.h"

#include <algorithm>

#include "wire/text.h"

namespace gpuprobe::bus {
namespace {

constexpr std::string_view kPrefix = "org.gpuprobe.GpuProbe1.Error.";
constexpr Bytes kMaxMessage = kib(4);

struct Entry {
    ErrorCode code;
    std::string_view name;
};
constexpr Entry kNames[] = {
    {ErrorCode::Io, "Failed"},
    {ErrorCode::NotFound, "NotFound"},
    {ErrorCode::PermissionDenied, "PermissionDenied"},
    {ErrorCode::Malformed, "MalformedManifest"},  // the only documents that callers send
    {ErrorCode::TooLarge, "TooLarge"},
    {ErrorCode::InvalidRequest, "InvalidRequest"},
    {ErrorCode::UnknownConsumer, "UnknownConsumer"},
    {ErrorCode::UnknownDevice, "NoSuchGpu"},
    {ErrorCode::NoMatch, "NoMatch"},
    {ErrorCode::WouldWake, "WouldWake"},
    {ErrorCode::ProbeFailed, "ProbeFailed"},
    {ErrorCode::TooManyRequests, "TooManyRequests"},
    {ErrorCode::Cancelled, "Cancelled"},
    {ErrorCode::NotAuthorized, "NotAuthorized"},
    {ErrorCode::Unavailable, "Unavailable"},
    {ErrorCode::Internal, "Internal"},
};

/// Standard errors that mean "nobody there" or "you may not". Source: D-Bus specification and
/// dbus/dbus-protocol.h.
constexpr Entry kForeign[] = {
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.ServiceUnknown"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.NameHasNoOwner"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.NoReply"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.Timeout"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.Disconnected"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.NoServer"},
    {ErrorCode::Unavailable, "org.freedesktop.DBus.Error.FileNotFound"},
    {ErrorCode::NotAuthorized, "org.freedesktop.DBus.Error.AccessDenied"},
    {ErrorCode::InvalidRequest, "org.freedesktop.DBus.Error.InvalidArgs"},
};

}  // namespace

std::string error_name(ErrorCode code) {
    const auto* entry = std::ranges::find(kNames, code, &Entry::code);
    return std::string{kPrefix} + std::string{entry == std::end(kNames) ? "Internal" : entry->name};
}

std::optional<ErrorCode> error_code(std::string_view name) {
    if (!name.starts_with(kPrefix))
        return std::nullopt;
    const auto* entry = std::ranges::find(kNames, name.substr(kPrefix.size()), &Entry::name);
    return entry == std::end(kNames) ? std::nullopt : std::optional{entry->code};
}

sdbus::Error sdbus_error(const Error& error) {
    return make_error(error_name(error.code), bus_text(error.text, kMaxMessage));
}

Error error_from(const sdbus::Error& error) {
    const std::string& name = error.getName();
    if (const auto code = error_code(name))
        return Error{*code, error.getMessage()};
    const auto* foreign = std::ranges::find(kForeign, name, &Entry::name);
    const auto code = foreign == std::end(kForeign) ? ErrorCode::Internal : foreign->code;
    return Error{code, error.getMessage().empty() ? name : error.getMessage()};
}

}  // namespace gpuprobe::bus
