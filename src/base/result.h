// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace gpuprobe::inline base {

/// What kind of failure a caller may branch on. Each value maps to one D-Bus error name
/// (src/service).
enum class ErrorCode {
    Io,                ///< the operating system said no; the text holds the errno string
    NotFound,          ///< the named object does not exist
    PermissionDenied,  ///< the object exists and may not be used
    Malformed,         ///< a document that does not follow its format
    TooLarge,          ///< a document or message over its limit
    InvalidRequest,    ///< unknown key, wrong type or contradictory request
    UnknownConsumer,   ///< no profile of that name
    UnknownDevice,     ///< no device of that id
    NoMatch,           ///< the request is valid and nothing satisfies it
    WouldWake,         ///< the answer needs a sleeping device to wake
    ProbeFailed,       ///< a worker could not be started
    TooManyRequests,   ///< a limit per caller
    Cancelled,         ///< the caller or a shutdown ended the operation
    NotAuthorized,     ///< the caller may not do this
    Unavailable,       ///< a service that is needed does not answer
    Internal,          ///< none of the above
};

/// A failure to do what was asked: a code to branch on and a text "operation: object: reason".
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string text = {};

    Error(ErrorCode error_code, std::string error_text)
        : code{error_code}, text{std::move(error_text)} {}

    /// The same failure with the place it happened in front of it.
    [[nodiscard]] Error in(std::string_view place) && {
        text.insert(0, std::string{place} + ": ");
        return std::move(*this);
    }
};

/// A value, or why there is none: an Error, or what a room has in its place.
template <class T, class Problem = Error>
class [[nodiscard]] Result {
public:
    Result(T value) : state_{std::in_place_index<0>, std::move(value)} {}
    Result(Problem problem) : state_{std::in_place_index<1>, std::move(problem)} {}

    explicit operator bool() const { return state_.index() == 0; }
    T& value() & { return std::get<0>(state_); }
    const T& value() const& { return std::get<0>(state_); }
    T&& value() && { return std::get<0>(std::move(state_)); }
    Problem& error() & { return std::get<1>(state_); }
    const Problem& error() const& { return std::get<1>(state_); }
    Problem&& error() && { return std::get<1>(std::move(state_)); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    T&& operator*() && { return std::move(*this).value(); }
    T* operator->() { return &value(); }
    const T* operator->() const { return &value(); }

    T value_or(T fallback) && {
        return *this ? std::get<0>(std::move(state_)) : std::move(fallback);
    }

private:
    std::variant<T, Problem> state_;
};

/// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace gpuprobe::inline base

/// The value of a Result, or return what it has in its place from the enclosing function.
#define TRY(expression)                            \
    __extension__({                                \
        auto try_result_ = (expression);           \
        if (!try_result_)                          \
            return std::move(try_result_).error(); \
        std::move(try_result_).value();            \
    })
