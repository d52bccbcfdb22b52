// SPDX-License-Identifier: Apache-2.0
// Makes a call with <gpuprobe/client.h> on each socket in the arguments, and prints a line with the
// result for each. The first argument is the name of the call. If it is "all", two calls are made
// on each socket: "call", and then one of the other calls in rotation.
#include <cstdlib>
#include <iostream>

#include <gpuprobe/client.h>

namespace {

using namespace gpuprobe::api;

struct Call {
    const char* name;
    void (*ask)(Client& client);
};
constexpr Call kCalls[] = {
    {"call", [](Client& client) { (void)client.call("Query"); }},
    {"select", [](Client& client) { (void)client.select(); }},
    {"recommend", [](Client& client) { (void)client.recommend("torch"); }},
    {"doctor", [](Client& client) { (void)client.doctor(); }},
    {"plan", [](Client& client) { (void)client.plan({.need = 1}); }},
    {"list", [](Client& client) { (void)client.gpus(); }},
    {"describe", [](Client& client) { (void)client.describe(); }},
};

void attempt(const std::string& path, const Call& call) {
    try {
        Client client{path, GPUPROBE_DAEMON_ONLY};
        const bool is_late = path.find("/late-") != std::string::npos;
        client.set_timeout(std::chrono::milliseconds{is_late ? 300 : 60000});
        call.ask(client);
        std::cout << " answers";
    } catch (const Failure& failure) {
        std::cout << ' ' << failure.name();
    } catch (const std::exception& problem) {
        std::cout << " LEAKED";
    }
}

}  // namespace

int main(int count, char** words) {
    const std::string chosen = words[1];
    std::size_t turn = 0;
    for (int i = 2; i < count; ++i) {
        std::cout << "called";
        if (chosen == "all") {
            attempt(words[i], kCalls[0]);
            attempt(words[i], kCalls[1 + turn++ % (std::size(kCalls) - 1)]);
        }
        for (const auto& call : kCalls)
            if (chosen == call.name)
                attempt(words[i], call);
        std::cout << std::endl;
    }
}
