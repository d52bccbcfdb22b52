// SPDX-License-Identifier: Apache-2.0
#include "probe/socket_launcher.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/files.h"
#include "base/value.h"
#include "probe/worker_message.h"

namespace gpuprobe::inline probe {
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

/// The daemon's end of a connection and of the two pipes. Forwards to a fallback worker if systemd
/// could not start one.
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
        // A hang-up is not an error here: reap() will see it and use the fallback.
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

    /// Handles all notices that have arrived.
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

    /// Handles one notice. `ended` without `started` means that the service could not start it.
    void take(const std::string& text) {
        const auto value = parse_json(text, kMaxNotice);
        const auto notice =
            value ? record_from<WorkerNotice>(*value) : Result<WorkerNotice>{value.error()};
        if (!notice)
            return lost("a notice that is none");
        if (notice->event == WorkerEvent::Ended && !has_started_)
            return lost("the service could start none");
        launcher_.works();
        close_written_ends();
        if (notice->event == WorkerEvent::Ended)
            exit_ = notice->exit;
    }

    /// Closes our write ends: from now on, end-of-file means that no worker holds them.
    void close_written_ends() {
        has_started_ = true;
        frames_.write.reset();
        output_.write.reset();
    }

    /// Handles the end of the connection: falls back if the worker had not started; otherwise its
    /// exit status stays unknown.
    void lost(const std::string& problem) {
        if (!has_started_ && !is_killed_ && can_stand_in(problem))
            return;
        exit_ = WorkerExit{};
    }

    /// Starts the fallback worker with the same pipes. On failure, writes the reason to the output
    /// pipe.
    [[nodiscard]] bool can_stand_in(const std::string& problem) {
        auto worker = launcher_.stand_in_for(target_, frames_.write.get(), output_.write.get(),
                                             "no worker started: " + problem);
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
