// SPDX-License-Identifier: Apache-2.0
#include "probe/socket_worker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "probe/spawn.h"

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kMaxDescriptors = 4;

/// A buffer for SCM_RIGHTS messages, aligned as cmsg(3) requires.
struct alignas(cmsghdr) Ancillary {
    std::array<char, CMSG_SPACE(kMaxDescriptors * sizeof(int))> bytes = {};
};

Error unavailable(std::string_view what, int number) {
    return Error{ErrorCode::Unavailable,
                 std::string{what} + ": " + std::generic_category().message(number)};
}

void attach(msghdr& message, Ancillary& ancillary, std::span<const int> descriptors) {
    message.msg_control = ancillary.bytes.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    auto* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
}

/// Takes ownership of all received descriptors, so that they are closed even if the message turns
/// out to be invalid.
std::vector<UniqueFd> descriptors_of(msghdr& message) {
    std::vector<UniqueFd> owned;
    for (auto* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        for (std::size_t offset = CMSG_LEN(0); offset < header->cmsg_len; offset += sizeof(int)) {
            int descriptor = -1;
            std::memcpy(&descriptor, reinterpret_cast<const char*>(header) + offset,
                        sizeof descriptor);
            owned.emplace_back(descriptor);
        }
    }
    return owned;
}

/// Repeats the call while a signal interrupts it.
template <class Call>
ssize_t uninterrupted(Call call) {
    ssize_t count = 0;
    do {
        count = call();
    } while (count < 0 && errno == EINTR);
    return count;
}

}  // namespace

Status send_message(int socket, std::string_view text, std::span<const int> descriptors) {
    iovec bytes = {.iov_base = const_cast<char*>(text.data()), .iov_len = text.size()};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    Ancillary ancillary;
    if (!descriptors.empty())
        attach(message, ancillary, descriptors);
    if (uninterrupted([&] { return ::sendmsg(socket, &message, MSG_NOSIGNAL); }) < 0)
        return unavailable("sending", errno);
    return Done{};
}

Result<std::optional<Message>> receive_message(int socket, Bytes limit, std::size_t descriptors) {
    std::string text(limit.count, '\0');
    iovec bytes = {.iov_base = text.data(), .iov_len = text.size()};
    msghdr message = {};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    Ancillary ancillary;
    if (descriptors > 0) {
        message.msg_control = ancillary.bytes.data();
        message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
    }
    const auto count =
        uninterrupted([&] { return ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC); });
    if (count < 0 && errno == EAGAIN)
        return std::optional<Message>{};
    if (count < 0)
        return unavailable("receiving", errno);
    auto owned = descriptors_of(message);
    // A message is never empty, so zero bytes mean end-of-file.
    if (count == 0)
        return Error{ErrorCode::Unavailable, "the connection was closed"};
    if ((message.msg_flags & MSG_TRUNC) != 0)
        return Error{ErrorCode::TooLarge, "a message larger than " + std::to_string(limit.count)};
    if ((message.msg_flags & MSG_CTRUNC) != 0 || owned.size() > descriptors)
        return Error{ErrorCode::Malformed, "a message with too many descriptors"};
    text.resize(static_cast<std::size_t>(count));
    return std::optional{Message{.text = std::move(text), .descriptors = std::move(owned)}};
}

Result<uid_t> peer_of(int socket) {
    ucred peer = {};
    socklen_t size = sizeof peer;
    if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
        return unavailable("SO_PEERCRED", errno);
    return peer.uid;
}

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
        return Error{ErrorCode::NotAuthorized,
                     "user " + std::to_string(uid) + " has no permission to start workers"};
    return Done{};
}

Result<Message> first_message(int connection) {
    pollfd readable = {.fd = connection, .events = POLLIN, .revents = 0};
    (void)::poll(&readable, 1, kRequestMilliseconds);
    auto message = TRY(receive_message(connection, kMaxRequest, kRequestDescriptors));
    if (!message)
        return Error{ErrorCode::Unavailable, "the request is empty"};
    return *std::move(message);
}

/// Receives and checks the request, whose fields become arguments of the worker's command line.
Result<Request> receive_request(int connection) {
    auto message = TRY(first_message(connection));
    if (message.descriptors.size() != kRequestDescriptors)
        return Error{ErrorCode::Malformed, "the request has no descriptors"};
    const auto value = TRY(parse_json(message.text, kMaxRequest));
    auto target = TRY(record_from<ProbeTarget>(value));
    // The API is the only positional argument; a leading dash would make it an option.
    if (target.api.empty() || target.api.starts_with('-'))
        return Error{ErrorCode::Malformed, "the request names no API"};
    return Request{.target = std::move(target),
                   .frames = TRY(raised(std::move(message.descriptors[0]))),
                   .output = TRY(raised(std::move(message.descriptors[1])))};
}

/// Waits until the worker has ended. Kills the worker when the client shuts down its half of the
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
            watched[1].fd = -1;  // from now on, poll() ignores this descriptor
        }
    }
}

void send_notice(int connection, const WorkerNotice& notice) {
    // If the client has disconnected, it needs no notice.
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
        return Error{ErrorCode::InvalidRequest, "--socket: systemd passed no connection"};
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
            return Error{ErrorCode::InvalidRequest, option + " requires a value"};
        const std::string value{rest[1]};
        const auto middle = value.find('=');
        if (option == "--peer")
            options.peer = TRY(user_named(value));
        else if (middle == 0 || middle == std::string::npos)
            return Error{ErrorCode::InvalidRequest, "--setenv requires NAME=VALUE"};
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
        // The client shows the worker's output as the reason for the failure.
        const auto line = worker.error().text + "\n";
        (void)!::write(request.output.get(), line.data(), line.size());
        send_notice(connection.get(),
                    {.event = WorkerEvent::Ended, .exit = {.code = kExitNotStarted}});
        return Done{};
    }
    // Only the worker may hold these descriptors, so that they are closed when the worker ends.
    request.frames.reset();
    request.output.reset();
    send_notice(connection.get(), {.event = WorkerEvent::Started});
    send_notice(connection.get(),
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

namespace {

/// Connects to the socket. Never blocks: a full queue is an error (EAGAIN).
Result<UniqueFd> connected(const std::string& path) {
    sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
    if (path.size() >= sizeof address.sun_path)
        return errno_error(path, ENAMETOOLONG);
    std::ranges::copy(path, std::begin(address.sun_path));
    UniqueFd connection{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    if (!connection)
        return errno_error("socket", errno);
    if (::connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) !=
        0)
        return errno_error(path, errno);
    return connection;
}

/// Checks that the listener is root (systemd) or our own user. Another user's socket at this path
/// would receive our requests and could forge the results.
Status check_server(int connection, const std::string& path) {
    const auto server = TRY(peer_of(connection));
    if (server != 0 && server != ::geteuid())
        return Error{ErrorCode::PermissionDenied,
                     path + ": served by user " + std::to_string(server)};
    return Done{};
}

Status watch(const UniqueFd& watcher, int descriptor) {
    epoll_event event = {.events = EPOLLIN, .data = {}};
    if (::epoll_ctl(watcher.get(), EPOLL_CTL_ADD, descriptor, &event) != 0)
        return errno_error("epoll_ctl", errno);
    return Done{};
}

bool has_hung_up(int connection) {
    pollfd end = {.fd = connection, .events = POLLRDHUP, .revents = 0};
    return ::poll(&end, 1, 0) == 1;
}

}  // namespace

/// The daemon's end of a connection and of the two pipes. If systemd could not start a worker, this
/// object forwards to a fallback worker.
class SocketWorker final : public Worker {
public:
    static Result<std::unique_ptr<Worker>> start(SocketLauncher& launcher,
                                                 const ProbeTarget& target,
                                                 UniqueFd connection) {
        std::unique_ptr<SocketWorker> worker{new SocketWorker{launcher, target}};
        worker->frames_ = TRY(worker_pipe());
        worker->output_ = TRY(worker_pipe());
        worker->ended_.reset(::epoll_create1(EPOLL_CLOEXEC));
        if (!worker->ended_)
            return errno_error("epoll_create1", errno);
        (void)TRY(watch(worker->ended_, connection.get()));
        const std::array<int, kRequestDescriptors> descriptors{worker->frames_.write.get(),
                                                               worker->output_.write.get()};
        const auto sent = send_message(connection.get(), json_line(to_value(target)), descriptors);
        // A hang-up isn't an error here, because reap() will detect it and use the fallback.
        if (!sent && !has_hung_up(connection.get()))
            return sent.error();
        worker->connection_ = std::move(connection);
        return std::unique_ptr<Worker>{std::move(worker)};
    }

    [[nodiscard]] int frames() const override { return frames_.read.get(); }
    [[nodiscard]] int output() const override { return output_.read.get(); }
    [[nodiscard]] int ended() const override { return ended_.get(); }
    void let_go() override { frames_.read.reset(); }

    void kill() override {
        is_killed_ = true;
        if (stand_in_)
            stand_in_->kill();
        else
            ::shutdown(connection_.get(), SHUT_WR);
    }

    /// Handles all messages that have arrived from the worker's parent.
    [[nodiscard]] std::optional<WorkerExit> reap() override {
        while (!exit_ && !stand_in_) {
            const auto message = receive_message(connection_.get(), kMaxNotice, 0);
            if (!message)
                lost(message.error().text);
            else if (!*message)
                return std::nullopt;
            else
                take((*message)->text);
        }
        if (!exit_)
            exit_ = stand_in_->reap();
        return exit_;
    }

private:
    SocketWorker(SocketLauncher& launcher, ProbeTarget target)
        : launcher_{launcher}, target_{std::move(target)} {}

    /// Handles one message. `ended` without `started` means that the service could not start the
    /// worker.
    void take(const std::string& text) {
        const auto value = parse_json(text, kMaxNotice);
        const auto notice =
            value ? record_from<WorkerNotice>(*value) : Result<WorkerNotice>{value.error()};
        if (!notice)
            return lost("an invalid notification");
        if (notice->event == WorkerEvent::Ended && !has_started_)
            return lost("the service could not start a worker");
        launcher_.works();
        close_written_ends();
        if (notice->event == WorkerEvent::Ended)
            exit_ = notice->exit;
    }

    /// Closes our write ends, so that from now on end-of-file means that no worker holds the write
    /// ends.
    void close_written_ends() {
        has_started_ = true;
        frames_.write.reset();
        output_.write.reset();
    }

    /// Handles the end of the connection. If the worker had not started, uses the fallback
    /// launcher; otherwise the worker's exit status stays unknown.
    void lost(const std::string& problem) {
        if (!has_started_ && !is_killed_ && can_stand_in(problem))
            return;
        exit_ = WorkerExit{};
    }

    /// Starts the fallback worker with the same pipes. On failure, writes the reason to the output
    /// pipe.
    [[nodiscard]] bool can_stand_in(const std::string& problem) {
        auto worker = launcher_.stand_in_for(target_, frames_.write.get(), output_.write.get(),
                                             "a worker could not be started: " + problem);
        if (!worker || !watch(ended_, (*worker)->ended())) {
            explain(worker ? problem : worker.error().text);
            return false;
        }
        stand_in_ = *std::move(worker);
        connection_.reset();
        close_written_ends();
        return true;
    }

    /// Writes the problem to the output pipe, as the worker would have done. Writing can't block:
    /// the pipe is empty, because nothing else has written to it.
    void explain(const std::string& problem) const {
        pollfd room = {.fd = output_.write.get(), .events = POLLOUT, .revents = 0};
        const auto line = (problem + "\n").substr(0, PIPE_BUF);
        if (::poll(&room, 1, 0) == 1)
            (void)!::write(output_.write.get(), line.data(), line.size());
    }

    SocketLauncher& launcher_;
    ProbeTarget target_;
    Pipe frames_ = {};
    Pipe output_ = {};
    UniqueFd ended_ = {};  ///< an epoll that watches the connection, then the fallback worker
    UniqueFd connection_ = {};
    std::unique_ptr<Worker> stand_in_ = {};
    bool has_started_ = false;
    bool is_killed_ = false;
    std::optional<WorkerExit> exit_ = {};
};

SocketLauncher::SocketLauncher(std::string path, SpawnLauncher* stand_in, Complaint complaint)
    : path_{std::move(path)}, stand_in_{stand_in}, complaint_{std::move(complaint)} {}

void SocketLauncher::complain(const std::string& problem) {
    if (!std::exchange(has_complained_, true) && complaint_)
        complaint_(problem);
}

Result<std::unique_ptr<Worker>> SocketLauncher::hand_over(const ProbeTarget& target) {
    auto connection = TRY(connected(path_));
    (void)TRY(check_server(connection.get(), path_));
    auto worker = SocketWorker::start(*this, target, std::move(connection));
    if (!worker)
        return std::move(worker).error().in(path_);
    return worker;
}

Result<std::unique_ptr<Worker>> SocketLauncher::launch(const ProbeTarget& target) {
    auto worker = hand_over(target);
    if (worker)
        return worker;
    complain(worker.error().text);
    if (!stand_in_)
        return Error{ErrorCode::ProbeFailed, worker.error().text};
    return stand_in_->launch(target);
}

Result<std::unique_ptr<Worker>> SocketLauncher::stand_in_for(const ProbeTarget& target,
                                                             int frames,
                                                             int output,
                                                             const std::string& problem) {
    const auto whole = path_ + ": " + problem;
    complain(whole);
    if (!stand_in_)
        return Error{ErrorCode::ProbeFailed, whole};
    return stand_in_->launch_into(target, frames, output);
}

}  // namespace gpuprobe::inline probe
