// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"

/// Simulates a socket unit with Accept=yes in a separate process. For each connection, a new
/// process calls `serve` and ends.
namespace gpuprobe::scripted {

class WorkerSocket {
public:
    using Serve = std::function<void(UniqueFd connection)>;

    WorkerSocket(std::string path, const Serve& serve) : path_{std::move(path)} {
        const UniqueFd listener{::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)};
        sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = {}};
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        const bool listens = ::bind(listener.get(), reinterpret_cast<const sockaddr*>(&address),
                                    sizeof address) == 0 &&
                             ::listen(listener.get(), 16) == 0;
        process_ = listens ? ::fork() : -1;
        if (process_ == 0)
            accept_all(listener, serve);
    }
    WorkerSocket(const WorkerSocket&) = delete;
    WorkerSocket& operator=(const WorkerSocket&) = delete;
    ~WorkerSocket() { stop(); }

    [[nodiscard]] bool runs() const { return process_ > 0; }
    [[nodiscard]] const std::string& path() const { return path_; }
    /// Stops accepting connections. The path remains, as with systemd; started processes continue.
    void stop() {
        if (process_ <= 0)
            return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        process_ = -1;
    }

private:
    [[noreturn]] static void accept_all(const UniqueFd& listener, const Serve& serve) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::signal(SIGCHLD, SIG_IGN);  // no process waits for the children
        for (;;) {
            UniqueFd connection{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
            if (::fork() != 0)
                continue;
            std::signal(SIGCHLD, SIG_DFL);
            serve(std::move(connection));
            ::_exit(0);
        }
    }

    std::string path_;
    pid_t process_ = -1;
};

}  // namespace gpuprobe::scripted
