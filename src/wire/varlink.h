// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/units.h"
#include "base/value.h"

/// Names of this project's errors, on the bus and on the socket.

namespace gpuprobe::bus {

/// The full name of an error: "org.gpuprobe.GpuProbe1.Error.NoMatch".
std::string error_name(ErrorCode code);
/// The code of an error name; nullopt for names of other projects.
std::optional<ErrorCode> error_code(std::string_view name);

}  // namespace gpuprobe::bus

/// The server side of Varlink: JSON objects, each terminated by NUL, over a stream. Source:
/// varlink.org, "Method Call".

namespace gpuprobe::varlink {

/// The maximum size of a call. A manifest of 1 MiB needs more space when it is quoted in JSON.
constexpr Bytes kMaxMessage = mib(2);
/// The maximum number of values in a call. No method needs more values; 2 MiB of values would take
/// 80 MiB of memory.
constexpr std::size_t kMaxValues = 4096;

struct Call {
    std::string method = {};
    Value parameters = Value{Value::Object{}};
    bool more = false;    ///< whether the caller accepts several replies
    bool oneway = false;  ///< whether the caller wants no reply
    /// polkit may ask the caller's user for a password; see take_interactive()
    bool may_be_asked = false;
};

/// The parameter with which a caller allows polkit to ask for a password, as in systemd's services.
/// Source: systemd, src/shared/bus-polkit.h, VARLINK_DISPATCH_POLKIT_FIELD.
constexpr const char* kInteractive = "allowInteractiveAuthentication";
/// Removes the parameter kInteractive and returns its value. A value that isn't a boolean is kept,
/// so that methods that read their parameters strictly refuse the call.
bool take_interactive(Value& parameters);

/// Parses a call. Ignores members that Varlink does not define. The parameters of the result do not
/// contain kInteractive. Errors: Malformed, with the reason, also if there are more than kMaxValues
/// values.
Result<Call> call_from(std::string_view message);

/// Splits a stream of bytes into messages.
class MessageReader {
public:
    /// Adds bytes. Errors: TooLarge if a message exceeds the limit; after that, the stream cannot
    /// be used any more.
    Status add(std::string_view bytes);
    /// The next complete message without its NUL, or nullopt. The message is valid until the next
    /// call of a non-const function.
    std::optional<std::string_view> next();
    /// Frees the memory of a large message. Call this when the message that next() returned is no
    /// longer needed.
    void release();
    /// Number of bytes that next() has not returned yet.
    [[nodiscard]] std::size_t size() const { return text_.size() - start_; }
    /// Memory used, in bytes.
    [[nodiscard]] std::size_t memory() const { return text_.capacity(); }

private:
    void append(std::string_view bytes);

    std::string text_ = {};
    std::size_t start_ = 0;  ///< start of the next message
    std::size_t known_ = 0;  ///< end of the part after start_ that is known to contain no NUL
};

/// Writes a reply. `error` is empty if the call succeeded; `document` is a JSON object on one line.
std::string reply(std::string_view error, std::string_view document, bool continues);

}  // namespace gpuprobe::varlink
