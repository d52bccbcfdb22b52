// SPDX-License-Identifier: Apache-2.0
// Asks each socket that is named with two calls of <gpuprobe/client.h>, and prints a line for each:
// what became of them.
#include <iostream>

#include <gpuprobe/client.h>

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

}  // namespace

int main(int count, char** words) {
    for (int i = 1; i < count; ++i) {
        std::cout << "called";
        const auto with_client = [path = words[i]](const auto& ask) {
            attempt([&] {
                Client client{path, GPUPROBE_DAEMON_ONLY};
                const bool is_late = std::string{path}.find("/late-") != std::string::npos;
                client.set_timeout(std::chrono::milliseconds{is_late ? 300 : 60000});
                ask(client);
            });
        };
        with_client([](Client& client) { (void)client.explain("default"); });
        if (i % 3 == 0)
            with_client([](Client& client) { (void)client.recommend("torch"); });
        else if (i % 3 == 1)
            with_client([](Client& client) { (void)client.diagnose(); });
        else
            with_client([](Client& client) { (void)client.call("Query"); });
        std::cout << std::endl;
    }
}
