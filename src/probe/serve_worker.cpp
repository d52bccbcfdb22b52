// SPDX-License-Identifier: Apache-2.0
#include "probe/serve_worker.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "probe/spawn.h"
#include "probe/worker_message.h"

namespace gpuprobe::inline probe {
namespace {

constexpr int kFirstPassedFd = 3;  // sd_listen_fds(3), SD_LISTEN_FDS_START
constexpr int kRequestMilliseconds = 10'000;
constexpr std::size_t kUserBuffer = 16384;
/// The exit status that shells use for a program that can't be executed.
constexpr int kExitNotStarted = 126;

/// One requested probe.
struct Request {
    ProbeTarget target = {};
    UniqueFd frames = {};
    UniqueFd output = {};
};

Status check_peer(int connection, uid_t peer) {
    const auto uid = TRY(peer_of(connection));
    if (uid != 0 && uid != peer)
        return Error{ErrorCode::NotAuthorized, "user " + std::to_string(uid) + " may not ask"};
    return Done{};
}

Result<Message> first_message(int connection) {
    pollfd readable = {.fd = connection, .events = POLLIN, .revents = 0};
    (void)::poll(&readable, 1, kRequestMilliseconds);
    auto message = TRY(receive_message(connection, kMaxRequest, kRequestDescriptors));
    if (!message)
        return Error{ErrorCode::Unavailable, "nothing was asked"};
    return *std::move(message);
}

/// Receives and checks the request. Its fields become arguments of the worker's command line.
Result<Request> receive_request(int connection) {
    auto message = TRY(first_message(connection));
    if (message.descriptors.size() != kRequestDescriptors)
        return Error{ErrorCode::Malformed, "a request without its descriptors"};
    const auto value = TRY(parse_json(message.text, kMaxRequest));
    auto target = TRY(record_from<ProbeTarget>(value));
    // The API is the only positional argument; a leading dash would make it an option.
    if (target.api.empty() || target.api.starts_with('-'))
        return Error{ErrorCode::Malformed, "a request without an API"};
    return Request{.target = std::move(target),
                   .frames = TRY(raised(std::move(message.descriptors[0]))),
                   .output = TRY(raised(std::move(message.descriptors[1])))};
}

/// Waits for the worker's end. Kills the worker when the client shuts down its half of the
/// connection.
WorkerExit end_of(Worker& worker, int connection) {
    std::array<pollfd, 2> watched = {
        {{.fd = worker.ended(), .events = POLLIN, .revents = 0},
         {.fd = connection, .events = POLLIN | POLLRDHUP, .revents = 0}}};
    for (;;) {
        (void)::poll(watched.data(), watched.size(), -1);
        if (const auto exit = worker.reap())
            return *exit;
        if (watched[1].revents != 0) {
            worker.kill();
            watched[1].fd = -1;  // poll() ignores it from now on
        }
    }
}

void tell(int connection, const WorkerNotice& notice) {
    // If the client has left, the notice is not needed.
    (void)send_message(connection, json_line(to_value(notice)));
}

/// The connection from systemd, moved above the descriptors that a worker gets. Errors:
/// InvalidRequest.
Result<UniqueFd> passed_connection() {
    const auto number = [](const char* name) -> std::optional<int> {
        const char* text = std::getenv(name);
        return text ? parse_number<int>(text) : std::nullopt;
    };
    if (number("LISTEN_PID") != ::getpid() || number("LISTEN_FDS") != 1)
        return Error{ErrorCode::InvalidRequest, "--socket: no connection was handed over"};
    UniqueFd low{kFirstPassedFd};
    return raised(std::move(low));
}

/// The uid for a user name or a decimal uid. Errors: InvalidRequest.
Result<uid_t> user_named(const std::string& name) {
    if (const auto number = parse_number<uid_t>(name))
        return *number;
    std::vector<char> buffer(kUserBuffer);
    passwd entry = {};
    passwd* found = nullptr;
    if (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
        return Error{ErrorCode::InvalidRequest, "no user " + name};
    return entry.pw_uid;
}

struct SocketOptions {
    uid_t peer = ::geteuid();
    std::map<std::string, std::string> environment = {};
};

Result<SocketOptions> options_from(std::span<char*> rest) {
    SocketOptions options;
    for (; !rest.empty(); rest = rest.subspan(2)) {
        const std::string option{rest[0]};
        if (option != "--peer" && option != "--setenv")
            return Error{ErrorCode::InvalidRequest, "unknown option " + option};
        if (rest.size() < 2)
            return Error{ErrorCode::InvalidRequest, option + " needs a value"};
        const std::string value{rest[1]};
        const auto middle = value.find('=');
        if (option == "--peer")
            options.peer = TRY(user_named(value));
        else if (middle == 0 || middle == std::string::npos)
            return Error{ErrorCode::InvalidRequest, "--setenv takes NAME=VALUE"};
        else
            options.environment[value.substr(0, middle)] = value.substr(middle + 1);
    }
    return options;
}

}  // namespace

Status serve_worker(const UniqueFd& connection, SpawnLauncher& launcher, uid_t peer) {
    (void)TRY(check_peer(connection.get(), peer));
    auto request = TRY(receive_request(connection.get()));
    const auto worker =
        launcher.launch_into(request.target, request.frames.get(), request.output.get());
    if (!worker) {
        // The client shows the worker's output as the reason.
        const auto line = worker.error().text + "\n";
        (void)!::write(request.output.get(), line.data(), line.size());
        tell(connection.get(), {.event = WorkerEvent::Ended, .exit = {.code = kExitNotStarted}});
        return Done{};
    }
    // Only the worker may hold these, so that its end closes them.
    request.frames.reset();
    request.output.reset();
    tell(connection.get(), {.event = WorkerEvent::Started});
    tell(connection.get(),
         {.event = WorkerEvent::Ended, .exit = end_of(**worker, connection.get())});
    return Done{};
}

Status serve_socket(std::span<char*> options) {
    const auto chosen = TRY(options_from(options));
    const auto connection = TRY(passed_connection());
    shut_out_workers();
    SpawnLauncher launcher{"/proc/self/exe", "", chosen.environment};
    return serve_worker(connection, launcher, chosen.peer);
}

}  // namespace gpuprobe::inline probe
