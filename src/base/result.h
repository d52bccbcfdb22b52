// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace gpuprobe::inline base {

/// Kinds of failure that a caller may distinguish. Each value maps to one D-Bus error name
/// (wire/varlink.h).
enum class ErrorCode {
    Io,                ///< the operating system reported an error; the message has the errno string
    NotFound,          ///< the named object does not exist
    PermissionDenied,  ///< the object exists, but access to it was denied
    Malformed,         ///< a document does not follow its format
    TooLarge,          ///< a document or message exceeds its limit
    InvalidRequest,    ///< the request has an unknown key, a wrong type or a contradiction
    UnknownApplication,  ///< no application has the given name
    UnknownDevice,       ///< no device has the given id
    NoMatch,             ///< the request is valid, but nothing satisfies it
    WouldWake,           ///< the answer would require waking a sleeping device
    ProbeFailed,         ///< a worker could not be started
    TooManyRequests,     ///< the caller has exceeded one of its limits
    Cancelled,           ///< the caller or a shutdown ended the operation
    NotAuthorized,       ///< the caller has no permission for the operation
    Unavailable,         ///< a required service does not answer
    Internal,            ///< any other failure
};

/// A failure: a code that callers can distinguish, and a message "operation: object: reason".
struct Error {
    ErrorCode code = ErrorCode::Internal;
    std::string text = {};

    Error(ErrorCode error_code, std::string error_text)
        : code{error_code}, text{std::move(error_text)} {}

    /// The same failure, with `place` in front of the message.
    [[nodiscard]] Error in(std::string_view place) && {
        text.insert(0, std::string{place} + ": ");
        return std::move(*this);
    }
};

/// Either a value or a problem, which is an Error unless a component uses another type.
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

/// Evaluates to the value of a Result; on failure, returns its problem from the enclosing function.
/// This is a GNU statement expression, because C++ has no other way to return from within an
/// expression.
#define TRY(expression)                            \
    __extension__({                                \
        auto try_result_ = (expression);           \
        if (!try_result_)                          \
            return std::move(try_result_).error(); \
        std::move(try_result_).value();            \
    })
