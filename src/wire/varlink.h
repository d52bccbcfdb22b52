// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/result.h"
#include "base/value.h"

/// The daemon's side of Varlink: JSON objects that end with a NUL, over a stream.
/// Source: varlink.org, "Method Call".
namespace gpuprobe::varlink {

/// The most that a call may hold: a manifest of 1 MiB needs some more when it is quoted.
constexpr Bytes kMaxMessage = mib(2);
/// The most values that a call may hold. No method needs more; 2 MiB of them would take 80 MiB.
constexpr std::size_t kMaxValues = 4096;

struct Call {
    std::string method = {};
    Value parameters = Value{Value::Object{}};
    bool more = false;    ///< the caller takes several answers
    bool oneway = false;  ///< the caller wants no answer
};

/// Members that Varlink does not define are ignored. Errors: Malformed, with the reason, also for
/// more than kMaxValues.
Result<Call> call_from(std::string_view message);

/// Messages out of bytes that come in pieces.
class MessageReader {
public:
    /// Errors: TooLarge when a message is over the limit; then nothing more can be read.
    Status add(std::string_view bytes);
    /// The next whole message without its NUL, or nullopt. It is valid until the next call of a
    /// function that is not const.
    std::optional<std::string_view> next();
    /// To be called when the message that next() returned is no longer needed: gives back the
    /// memory of a large one.
    void release();
    /// What add() was given and next() has not returned.
    [[nodiscard]] std::size_t size() const { return text_.size() - start_; }
    /// The memory that it takes.
    [[nodiscard]] std::size_t memory() const { return text_.capacity(); }

private:
    void append(std::string_view bytes);

    std::string text_ = {};
    std::size_t start_ = 0;  ///< of the next message
    std::size_t known_ = 0;  ///< there is no NUL between start_ and this
};

/// A message with an answer. `error` is empty unless the call failed; `document` is a JSON object
/// on one line.
std::string reply(std::string_view error, std::string_view document, bool continues);

}  // namespace gpuprobe::varlink
