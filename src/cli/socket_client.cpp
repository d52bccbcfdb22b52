// SPDX-License-Identifier: Apache-2.0
#include "cli/socket_client.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <poll.h>

#include "base/value.h"
#include "cli/polkit_agent.h"
#include "wire/varlink.h"

namespace gpuprobe::inline cli {
namespace {

constexpr std::chrono::milliseconds kCallPatience = std::chrono::seconds{25};
/// A probe takes much longer than other calls, because it runs several drivers with one timeout
/// each.
constexpr std::chrono::milliseconds kProbePatience = std::chrono::minutes{5};
/// This time must be longer than the time limit that the daemon sets for polkit to get a password
/// from the user.
constexpr std::chrono::milliseconds kPatienceWithPeople = std::chrono::minutes{3};

using Text = CHandle<char, ::gpuprobe_free>;

/// The error for a negative errno from the client library, which returns no answer in this case.
Error failure_of_code(int code) {
    if (code == -ECONNREFUSED || code == -ECONNRESET)
        return {ErrorCode::Unavailable, "the daemon does not answer on its socket"};
    if (code == -EPROTO)
        return {ErrorCode::Internal,
                "the answer on the daemon's socket is invalid: another program, or another "
                "version of gpuprobe, sent the answer"};
    if (code == -E2BIG)
        return {ErrorCode::TooLarge,
                "the answer on the daemon's socket is larger than 64 MiB, or has more than "
                "1,048,576 values: another program sent the answer"};
    if (code == -ETIMEDOUT)
        return {ErrorCode::Unavailable, "the daemon did not answer in time on its socket"};
    return {ErrorCode::Internal, std::string{"the daemon's socket: "} + std::strerror(-code)};
}

/// How long to wait for the answer.
std::chrono::milliseconds patience_for(const MethodCall& call) {
    if (call.method == "org.gpuprobe.Subscribe")
        return std::chrono::milliseconds{-1};  // no limit
    if (call.method == "org.gpuprobe.Probe")
        return kProbePatience;
    return call.parameters.find(varlink::kInteractive) ? kPatienceWithPeople : kCallPatience;
}

/// Passes an answer on to the HearAnswer at `context`. The client library, which is written in C,
/// calls this function, so no exception may leave it: an answer that can't be shown is left out.
void pass_on(void* context, const char* json) noexcept try {
    (*static_cast<const HearAnswer*>(context))({.document = json, .continues = true});
} catch (const std::exception&) {
}

}  // namespace

Result<std::unique_ptr<Client>> SocketClient::open(const std::optional<std::string>& path) {
    ::gpuprobe_client* opened = nullptr;
    const int code = ::gpuprobe_open(&opened, path ? path->c_str() : nullptr, GPUPROBE_DAEMON_ONLY);
    Handle client{opened};
    // If the library could not connect, errno contains the reason.
    const int problem = code == -ECONNREFUSED ? errno : -code;
    if (code < 0)
        return Error{ErrorCode::Unavailable,
                     fmt::format("no daemon can be reached at {}: {}",
                                 path.value_or(GPUPROBE_SOCKET), std::strerror(problem))};
    return std::unique_ptr<Client>{new SocketClient{std::move(client)}};
}

Result<MethodAnswer> SocketClient::call(const MethodCall& call, const HearAnswer& heard_before) {
    auto answer = TRY(answer_to(call, heard_before));
    if (bus::error_code(answer.error) != ErrorCode::NotAuthorized ||
        !PolkitAgent::somebody_is_there())
        return answer;
    auto again = call;
    again.parameters[varlink::kInteractive] = true;
    const PolkitAgent agent;  // runs until the answer arrives
    return answer_to(again, heard_before);
}

/// Sends a call and waits for the last answer.
Result<MethodAnswer> SocketClient::answer_to(const MethodCall& call, HearAnswer heard_before) {
    ::gpuprobe_set_timeout(client_.get(), static_cast<int>(patience_for(call).count()));
    char* json = nullptr;
    const int code =
        ::gpuprobe_call_more(client_.get(), call.method.c_str(), json_line(call.parameters).c_str(),
                             heard_before ? pass_on : nullptr, &heard_before, &json);
    const Text text{json};
    if (!text)
        return failure_of_code(code);
    // The library returns error replies as {"error":{…}} with a code other than 0.
    if (code == 0)
        return MethodAnswer{.document = text.get()};
    const auto failure = TRY(of_answer(parse_json(text.get(), kMaxReport)));
    const auto* name = failure.at("error").at("name").as_string();
    return MethodAnswer{.error = name ? *name : "", .document = json_line(failure.at("error"))};
}

/// The first event only reports the current state, so it isn't a change.
Status SocketClient::watch(const std::function<void()>& changed) {
    pollfd events{.fd = ::gpuprobe_watch(client_.get()), .events = POLLIN, .revents = 0};
    int code = events.fd;
    for (bool is_first = true; code >= 0;) {
        char* json = nullptr;
        code = ::gpuprobe_watch_next(client_.get(), &json);
        const Text text{json};
        if (code > 0 && !std::exchange(is_first, false))
            changed();
        // 0 means that no event is queued, so wait for the descriptor.
        if (code == 0)
            (void)::poll(&events, 1, -1);
    }
    return Error{ErrorCode::Unavailable, "the daemon closed the connection"};
}

Status SocketClient::capture(const std::string&, engine::Redaction*) {
    return Error{ErrorCode::InvalidRequest, "capture: requires --direct"};
}

}  // namespace gpuprobe::inline cli
