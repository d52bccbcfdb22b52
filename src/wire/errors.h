// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "base/result.h"
#include "wire/error_names.h"
#include "wire/sdbus.h"

/// Conversion of errors to and from the bus, and guards against exceptions.
namespace gpuprobe::bus {

/// The error for a reply, with a valid and short text.
sdbus::Error sdbus_error(const Error& error);
/// Converts an error from a peer or from sdbus-c++. Names of other projects become Unavailable if
/// the service is missing, NotAuthorized for AccessDenied, InvalidRequest for InvalidArgs, and
/// otherwise Internal.
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

/// Runs something that sends. Returns false if it failed; no caller can be informed of the error. A
/// broken connection is detected where the connection is driven.
template <class Body>
bool attempt(Body&& body) noexcept try {
    body();
    return true;
} catch (...) {
    return false;
}

}  // namespace gpuprobe::bus
