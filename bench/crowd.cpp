// SPDX-License-Identifier: Apache-2.0
/// Runs many clients of the daemon's socket, GPUPROBE_SOCKET. Each client sends its next call when
/// it has an answer. Prints the median and the 99th percentile of the latency in seconds.
///
/// Usage: bench_crowd CLIENTS CALLS
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace {

using Clock = std::chrono::steady_clock;

struct Client {
    int descriptor = -1;
    int left = 0;
    Clock::time_point since = {};
};

const std::string& question() {
    static const std::string text =
        R"({"method":"org.gpuprobe.Select","parameters":{"application":"default"}})";
    return text;
}

int connected() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, std::getenv("GPUPROBE_SOCKET"), sizeof address.sun_path - 1);
    const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (::connect(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
        if (errno != EAGAIN && errno != EINTR)
            std::abort();
    return descriptor;
}

void ask(Client& client) {
    client.since = Clock::now();
    if (::send(client.descriptor, question().c_str(), question().size() + 1, 0) < 0)
        std::abort();
}

/// Whether the answer is complete.
bool read_answer(const Client& client) {
    static std::array<char, 65536> block;
    const auto got = ::recv(client.descriptor, block.data(), block.size(), 0);
    if (got <= 0)
        std::abort();
    return block[static_cast<std::size_t>(got) - 1] == '\0';
}

std::vector<double> waits_of(std::vector<Client>& clients) {
    const int poll = ::epoll_create1(EPOLL_CLOEXEC);
    for (auto& client : clients) {
        epoll_event event{.events = EPOLLIN, .data = {.ptr = &client}};
        ::epoll_ctl(poll, EPOLL_CTL_ADD, client.descriptor, &event);
        ask(client);
    }
    std::vector<double> waits;
    for (auto asking = clients.size(); asking > 0;) {
        std::array<epoll_event, 64> events;
        const int ready = ::epoll_wait(poll, events.data(), events.size(), -1);
        for (int i = 0; i < ready; ++i) {
            auto& client = *static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
            if (!read_answer(client))
                continue;
            waits.push_back(std::chrono::duration<double>(Clock::now() - client.since).count());
            --client.left > 0 ? ask(client) : static_cast<void>(--asking);
        }
    }
    ::close(poll);
    return waits;
}

}  // namespace

int main(int count, char** words) {
    if (count != 3)
        return 2;
    std::vector<Client> clients(std::strtoul(words[1], nullptr, 10));
    for (auto& client : clients)
        client = {.descriptor = connected(), .left = std::atoi(words[2])};
    auto waits = waits_of(clients);
    std::ranges::sort(waits);
    std::printf("%.6f %.6f\n", waits[waits.size() / 2], waits[waits.size() * 99 / 100]);
    return 0;
}
