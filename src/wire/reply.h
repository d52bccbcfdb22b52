// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "wire/errors.h"

namespace gpuprobe::bus {

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
