// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sdbus-c++/sdbus-c++.h>
#include <systemd/sd-bus.h>

#include "base/units.h"

#if __has_include(<sdbus-c++/VTableItems.h>)
#define GPUPROBE_SDBUS_2 1
#endif
#include <exception>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "wire/varlink.h"

/// Hides the differences between sdbus-c++ 1.x (Debian 12) and 2.x (Debian 13) that matter to this
/// program. Everything else is source-compatible: generated adaptors and proxies,
/// `sdbus::Variant{x}` and `.get<T>()`. Source: sdbus-c++, docs/using-sdbus-c++.md, "Migrating to
/// sdbus-c++ v2".
namespace gpuprobe::bus {

/// A dictionary of variants: a{sv}.
using Dictionary = std::map<std::string, sdbus::Variant>;

#ifdef GPUPROBE_SDBUS_2
using ErrorName = sdbus::Error::Name;
using ServiceName = sdbus::ServiceName;
/// The first parameter of a proxy's reply handler, before the results.
using ReplyError = std::optional<sdbus::Error>;
#else
using ErrorName = std::string;
using ServiceName = std::string;
using ReplyError = const sdbus::Error*;
#endif

inline sdbus::Error make_error(const std::string& name, const std::string& text) {
    return sdbus::Error{ErrorName{name}, text};
}

inline void add_object_manager(sdbus::IConnection& connection, const std::string& path) {
#ifdef GPUPROBE_SDBUS_2
    connection.addObjectManager(sdbus::ObjectPath{path});
#else
    connection.addObjectManager(path, sdbus::floating_slot);
#endif
}

/// The events and the time at which a connection must be processed.
struct PollWish {
    int fd = -1;
    std::uint32_t events = 0;  ///< events as for poll(2)
    /// absolute time; in the past if there is work now
    std::optional<MonotonicTime> deadline = {};
};

inline PollWish poll_wish(const sdbus::IConnection& connection) {
    const auto data = connection.getEventLoopPollData();
#ifdef GPUPROBE_SDBUS_2
    const auto deadline = data.timeout;
    const bool none = deadline == std::chrono::microseconds::max();
#else
    const bool none = data.timeout_usec == UINT64_MAX;
    const std::chrono::microseconds deadline{none ? 0 : data.timeout_usec};
#endif
    return {.fd = data.fd,
            .events = static_cast<std::uint32_t>(static_cast<unsigned short>(data.events)),
            .deadline = none ? std::nullopt : std::optional<MonotonicTime>{deadline}};
}

/// Handles at most one message. Throws sdbus::Error if the connection is lost.
inline bool process(sdbus::IConnection& connection) {
#ifdef GPUPROBE_SDBUS_2
    return connection.processPendingEvent();
#else
    return connection.processPendingRequest();
#endif
}

/// The sd-bus message inside a message of sdbus-c++, which offers no public access to it. The
/// result is borrowed.
inline sd_bus_message* raw_message(const sdbus::Message& message) {
    struct Opened : sdbus::Message {
        static void* of(const sdbus::Message& closed) { return closed.*(&Opened::msg_); }
    };
    return static_cast<sd_bus_message*>(Opened::of(message));
}

/// Whether the caller allows polkit to ask its user for a password.
inline bool allows_questions(sd_bus_message* call) {
    return call != nullptr && sd_bus_message_get_allow_interactive_authorization(call) > 0;
}

/// A proxy on a connection whose events are handled elsewhere.
inline std::unique_ptr<sdbus::IProxy> make_proxy(sdbus::IConnection& connection,
                                                 const std::string& service,
                                                 const std::string& path) {
    return sdbus::createProxy(connection, ServiceName{service}, sdbus::ObjectPath{path});
}

/// The sd-bus connection, for functions of sd-bus that sdbus-c++ does not offer.
inline sd_bus* raw_connection(sdbus::IConnection& connection) {
    const auto proxy = make_proxy(connection, "org.freedesktop.DBus", "/org/freedesktop/DBus");
#ifdef GPUPROBE_SDBUS_2
    const auto call = proxy->createMethodCall(sdbus::InterfaceName{"org.freedesktop.DBus.Peer"},
                                              sdbus::MethodName{"Ping"});
#else
    const auto call = proxy->createMethodCall("org.freedesktop.DBus.Peer", "Ping");
#endif
    return sd_bus_message_get_bus(raw_message(call));
}

/// The signature of a variant's content, such as "a{sv}".
inline std::string signature_in(const sdbus::Variant& variant) {
#ifdef GPUPROBE_SDBUS_2
    const char* signature = variant.peekValueType();
    return signature != nullptr ? signature : "";
#else
    return variant.isEmpty() ? std::string{} : variant.peekValueType();
#endif
}

/// Limit for every string that we put on the bus.
constexpr Bytes kMaxText = kib(256);

/// Makes a string valid for a bus message: each invalid byte or character becomes U+FFFD, and the
/// string is shortened to at most `limit` bytes without splitting a character.
///
/// sd-bus is stricter than the specification. sd-bus refuses NUL, invalid UTF-8, surrogates and
/// noncharacters (U+FDD0–FDEF and the last two code points of each plane). Source: D-Bus
/// specification, "Valid Strings"; systemd src/basic/utf8.c, unichar_is_valid.
std::string bus_text(std::string_view text, Bytes limit = kMaxText);

// Conversion of errors to and from the bus, and guards against exceptions.

/// The error for a reply, with a valid and short message.
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
