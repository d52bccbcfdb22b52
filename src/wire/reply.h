// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "wire/errors.h"

namespace gpuprobe::bus {

/// The reply that the caller of an asynchronous method waits for. It is sent exactly once. A reply
/// that is destroyed unsent sends Error.Cancelled, because sdbus-c++ would let the caller wait.
///
/// It is for the loop's thread alone, and must not outlive its connection.
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
        // A descriptor is duplicated on its way, which may be one too many.
        const auto sent = attempt([&] { result_->returnResults(results...); });
        if (sent)
            result_.reset();
        else
            fail(Error{ErrorCode::Internal, "the answer could not be sent"});
    }
    /// The value, or why there is none.
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

/// Replies that wait for what may end after their connection, as the engine's work does: they go
/// down with this.
template <class... Results>
class WaitingReplies {
public:
    /// What gives the reply a result, once; and nothing where this has gone meanwhile.
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
