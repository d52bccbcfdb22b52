// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/units.h"
#include "wire/sdbus.h"
#include "wire/varlink.h"

namespace gpuprobe::bus {

/// Limit for every string that we put on the bus.
constexpr Bytes kMaxText = kib(256);

/// Makes a text valid for a bus message: each invalid byte or character becomes U+FFFD, and the
/// text is shortened to at most `limit` bytes without splitting a character.
///
/// sd-bus is stricter than the specification. sd-bus refuses NUL, invalid UTF-8, surrogates and
/// noncharacters (U+FDD0–FDEF and the last two code points of each plane). Source: D-Bus
/// specification, "Valid Strings"; systemd src/basic/utf8.c, unichar_is_valid.
std::string bus_text(std::string_view text, Bytes limit = kMaxText);

// Conversion of errors to and from the bus, and guards against exceptions.

/// The error for a reply, with a valid and short text.
sdbus::Error sdbus_error(const Error& error);
/// Converts an error from a peer or from sdbus-c++. Error names from other projects become
/// Unavailable if the service is missing, NotAuthorized for AccessDenied, InvalidRequest for
/// InvalidArgs, and otherwise Internal.
Error error_from(const sdbus::Error& error);

/// Runs the body of a bus method or property. sdbus-c++ 1.2 catches only sdbus::Error; any other
/// exception would end the process.
template <class Body>
auto guard(Body&& body) -> decltype(body()) try {
    return body();
} catch (const sdbus::Error&) {
    throw;
} catch (const std::exception& problem) {
    throw sdbus_error(Error{ErrorCode::Internal, problem.what()});
} catch (...) {
    throw sdbus_error(Error{ErrorCode::Internal, "unexpected exception"});
}

/// Runs a function that sends a message. Returns false if the function failed; no caller can be
/// informed about the error. A broken connection is detected by the code that drives the
/// connection.
template <class Body>
bool attempt(Body&& body) noexcept try {
    body();
    return true;
} catch (...) {
    return false;
}

}  // namespace gpuprobe::bus
