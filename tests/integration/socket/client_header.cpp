// SPDX-License-Identifier: Apache-2.0
// Asks with each call of <gpuprobe/client.h> and prints what came, one thing a line.
#include <iostream>

#include <gpuprobe/client.h>
#include <poll.h>

namespace {

using namespace gpuprobe::api;

void print(const std::string& name, const std::string& text) {
    std::cout << name << ' ' << text << std::endl;
}

template <class Ask>
void print_failure(const std::string& name, const Ask& ask) {
    try {
        ask();
        print(name, "no failure");
    } catch (const Failure& failure) {
        print(name, failure.name());
    }
}

void print_recommendations(Client& client) {
    const auto found = client.recommend("torch", {.exclude = {"cu132"}, .need_mib = 1024});
    print("recommend", found.variant.value_or("none") + " " + found.verdict + " " +
                           found.gpus.at(0) + " " + found.fallback.at(0));
    print("artifact", found.artifact.value_or("none"));
    const auto none = client.recommend("torch", {.only = {"rocm7.1"}});
    print("none", none.variant.value_or("none") + " " + none.status);
    print_failure("unknown", [&] { client.recommend("nobody"); });
}

void print_findings(Client& client) {
    for (const auto& finding : client.diagnose())
        print("finding", finding.id + "|" + finding.severity + "|" + finding.gpu.value_or("") +
                             "|" + finding.sentence + "|" + finding.fix.value_or("") + "|" +
                             (finding.commands.empty() ? "" : finding.commands.front()));
}

void print_change(Client& client, int descriptor) {
    pollfd wish{.fd = descriptor, .events = POLLIN, .revents = 0};
    ::poll(&wish, 1, 20000);
    try {
        while (const auto change = client.next_change())
            print("change", std::to_string(change->generation) + " " + change->state);
    } catch (const Failure& failure) {
        print("left", failure.name());
    }
}

}  // namespace

int main(int, char** words) {
    Client client{words[1], GPUPROBE_DAEMON_ONLY};
    client.set_timeout(std::chrono::minutes{1});
    print("select", client.select("ollama", {.min_memory = 1U << 30U})->backend);
    print_recommendations(client);
    print_findings(client);
    print("call", client.call("Plan", R"({"need":1073741824})"));
    print_failure("refused", [&] { client.call("Nothing"); });
    const int descriptor = client.watch();
    print_change(client, descriptor);
    print("waits", "");
    print_change(client, descriptor);
    print("waits", "");
    std::string line;
    std::getline(std::cin, line);
    print_change(client, descriptor);
    client.set_timeout(std::chrono::milliseconds{1});
    print_failure("watch", [&] { client.watch(); });
    print_failure("nobody", [&] { Client{words[1], GPUPROBE_DAEMON_ONLY}; });
}
