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
/// text is cut at a character to at most `limit` bytes.
///
/// sd-bus is stricter than the specification. It refuses NUL, invalid UTF-8, surrogates and
/// noncharacters (U+FDD0–FDEF and the last two of each plane). Source: D-Bus specification, "Valid
/// Strings"; systemd src/basic/utf8.c, unichar_is_valid.
std::string bus_text(std::string_view text, Bytes limit = kMaxText);

// Conversion of errors to and from the bus, and guards against exceptions.

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

/// The pending reply of an asynchronous method. It is sent exactly once. Destroying it unsent sends
/// Error.Cancelled, because sdbus-c++ would leave the caller waiting.
///
/// For the loop's thread only. Must not outlive its connection.
template <class... Results>
class Reply {
public:
    explicit Reply(sdbus::Result<Results...>&& result) : result_{std::move(result)} {}
    Reply(Reply&& other) noexcept : result_{std::exchange(other.result_, std::nullopt)} {}
    Reply& operator=(Reply&&) = delete;
    ~Reply() { fail(Error{ErrorCode::Cancelled, "the operation was given up"}); }

    void send(const Results&... results) {
        if (!result_)
            return;
        // Sending a descriptor duplicates it, which may exceed the limit of open files.
        const auto sent = attempt([&] { result_->returnResults(results...); });
        if (sent)
            result_.reset();
        else
            fail(Error{ErrorCode::Internal, "the answer could not be sent"});
    }
    /// Sends a value or an error.
    template <class T>
    void give(const Result<T>& result) {
        if (!result)
            fail(result.error());
        else if constexpr (sizeof...(Results) == 0)
            send();
        else
            send(*result);
    }
    void fail(const Error& error) {
        if (auto result = std::exchange(result_, std::nullopt))
            (void)attempt([&] { result->returnError(sdbus_error(error)); });
    }

private:
    std::optional<sdbus::Result<Results...>> result_;
};

/// Replies that wait for an operation which may outlive their connection, such as work of the
/// engine. They are cancelled when this object is destroyed.
template <class... Results>
class WaitingReplies {
public:
    /// Stores a reply. Returns a function that sends a result to it once, and does nothing if this
    /// object has been destroyed.
    auto hold(Reply<Results...> reply) {
        const auto number = ++last_;
        held_->emplace(number, std::move(reply));
        return [weak = std::weak_ptr{held_}, number](const auto& result) {
            const auto held = weak.lock();
            if (!held)
                return;
            if (auto one = held->extract(number); !one.empty())
                one.mapped().give(result);
        };
    }

private:
    using Held = std::map<std::uint64_t, Reply<Results...>>;
    std::shared_ptr<Held> held_ = std::make_shared<Held>();
    std::uint64_t last_ = 0;
};

}  // namespace gpuprobe::bus
