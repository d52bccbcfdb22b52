// SPDX-License-Identifier: Apache-2.0
// Asks each socket that is named with every call of <gpuprobe/client.h>, and prints a line for each:
// what became of the calls.
#include <iostream>

#include <gpuprobe/client.h>
#include <poll.h>

namespace {

using namespace gpuprobe::api;

template <class Ask>
void attempt(const Ask& ask) {
    try {
        ask();
        std::cout << " answers";
    } catch (const Failure& failure) {
        std::cout << ' ' << failure.name();
    } catch (const std::exception& problem) {
        std::cout << " LEAKED";
    }
}

void follow(Client& client) {
    pollfd events{.fd = client.watch(), .events = POLLIN, .revents = 0};
    for (int left = 1000; left > 0; --left)
        if (!client.next_change() && ::poll(&events, 1, 1000) == 0)
            return;
}

}  // namespace

int main(int count, char** words) {
    for (int i = 1; i < count; ++i) {
        std::cout << "called";
        const auto with_client = [path = words[i]](const auto& ask) {
            attempt([&] {
                Client client{path, GPUPROBE_DAEMON_ONLY};
                client.set_timeout(std::chrono::seconds{1});
                ask(client);
            });
        };
        with_client([](Client& client) { (void)client.explain("default"); });
        with_client([](Client& client) { (void)client.recommend("torch"); });
        with_client([](Client& client) { (void)client.diagnose(); });
        with_client([](Client& client) { (void)client.call("Query"); });
        if (std::string{words[i]}.find("followed") != std::string::npos)
            with_client([](Client& client) { follow(client); });
        std::cout << std::endl;
    }
}
