// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/record.h"
#include "base/result.h"
#include "base/value.h"
#include "calls/methods.h"
#include "policy/decision.h"
#include "report/report.h"

namespace gpuprobe::engine {
class Redaction;
}

namespace gpuprobe::inline cli {

/// Returns the result of reading an answer. Adds context to the message of an error, because only a
/// daemon can send an answer that cannot be read.
template <class T>
Result<T> of_answer(Result<T> read) {
    if (!read)
        return std::move(read).error().in("the answer on the daemon's socket");
    return read;
}

/// The source of answers about the machine: the daemon on its socket, or the engine in this
/// process. Verbs work in the same way with both sources, and call the methods of org.gpuprobe
/// (calls/methods.h) by name. Both sources implement these methods in call(), which the other
/// functions use. Each function returns the errors of call() in addition to the errors that the
/// comment on the function lists. An error reply that this program does not know becomes the error
/// Internal.
class Client {
public:
    virtual ~Client() = default;

    /// Calls a method of org.gpuprobe or org.varlink.service and returns its last answer. An error
    /// reply is also an answer. `heard_before` receives intermediate answers, such as the progress
    /// of Probe. Errors: Unavailable or TooLarge; Internal for a malformed reply; Cancelled on an
    /// interrupt.
    [[nodiscard]] virtual Result<MethodAnswer> call(const MethodCall& call,
                                                    const HearAnswer& heard_before = {}) = 0;
    /// Calls `changed` at each new generation of the report, until an error. Errors: Unavailable if
    /// the daemon has ended; Cancelled on an interrupt.
    virtual Status watch(const std::function<void()>& changed) = 0;
    /// Writes a capture of this machine into a folder, redacted if `mask` isn't null. Errors:
    /// InvalidRequest if the folder isn't empty or if this client is connected to a daemon; Io or
    /// PermissionDenied.
    virtual Status capture(const std::string& folder, engine::Redaction* mask) = 0;
    /// Whether a daemon answers, and not this process.
    [[nodiscard]] virtual bool is_daemon() const = 0;

    /// The report without members that this program does not know. The engine in this process
    /// returns the report without converting it to text, because the report is large. Errors:
    /// TooManyRequests or Malformed.
    [[nodiscard]] virtual Result<Report> report();
    /// Refreshes the facts that change from moment to moment (Engine::renew). Facts that cannot be
    /// read again keep their old value. The only error is Cancelled.
    virtual Status renew();

    /// Chooses a backend. A decision whose `backend` is null isn't an error. If the request has
    /// `explain`, all reasons have messages. Errors: UnknownApplication, InvalidRequest,
    /// UnknownDevice.
    [[nodiscard]] Result<Decision> select(const std::string& application, const Value& request);

    /// Reads the free memory of `gpu` again without waking the GPU, unless the last reading is less
    /// than a second old. If the memory cannot be read, `gpu` keeps the old value and its age. The
    /// only errors are Malformed and Cancelled.
    Status refresh_memory(Gpu& gpu);

    /// Calls a method and returns its document; an error reply becomes an Error. A name without an
    /// interface is a method of org.gpuprobe. Errors: the same as for call(); Malformed for a
    /// document that is not JSON.
    Result<Value> ask(std::string_view method,
                      Value parameters = Value{Value::Object{}},
                      const HearAnswer& heard_before = {});
    /// Calls a method and reads its document as the record T, without the members that this program
    /// does not know. Errors: the same as for ask(); Malformed with the name of the invalid member.
    template <class T>
    Result<T> ask_for(std::string_view method, Value parameters = Value{Value::Object{}}) {
        const auto document = ask(method, std::move(parameters));
        return document ? of_answer(record_from<T>(*document)) : Result<T>{document.error()};
    }
};

}  // namespace gpuprobe::inline cli
