// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>
#include <string>

#include "base/result.h"
#include "wire/error_names.h"
#include "wire/sdbus.h"

/// Our errors on the bus, and the door at which exceptions stop.
namespace gpuprobe::bus {

/// The error as a reply carries it: text valid for the bus, bounded.
sdbus::Error sdbus_error(const Error& error);
/// A peer's or the library's error as ours. Names that are not ours become Unavailable when they
/// say that nobody answers, NotAuthorized for AccessDenied, else Internal.
Error error_from(const sdbus::Error& error);

/// Runs the body of a bus method or property. sdbus-c++ 1.2 catches sdbus::Error and nothing else:
/// any other exception would end the process.
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

/// Runs something that sends and has nobody to tell: true when it went out. A connection that broke
/// is noticed where the connection is driven.
template <class Body>
bool attempt(Body&& body) noexcept try {
    body();
    return true;
} catch (...) {
    return false;
}

}  // namespace gpuprobe::bus
