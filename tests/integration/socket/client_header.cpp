// SPDX-License-Identifier: Apache-2.0
// Makes each call of <gpuprobe/client.h> and prints the results, one per line.
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

void print_selections(Client& client) {
    const auto chosen = client.select("ollama", {.min_memory = 1U << 30U});
    print("select", *chosen.backend + " " + chosen.gpus.at(0) + " " + chosen.decision + " " +
                        std::to_string(chosen.candidates.size()));
    try {
        client.select("default", {.only = {"sycl"}});
    } catch (const NoMatch& none) {
        print("no match", none.what());
        for (const auto& candidate : none.candidates())
            for (const auto& reason : candidate.reasons)
                print("reason", candidate.backend + "|" + reason.code + "|" +
                                    reason.text.value_or("") + "|" + reason.fix.value_or("") + "|" +
                                    (reason.subject ? reason.subject->gpu.value_or("") : "") + "|" +
                                    std::to_string(reason.commands.size()) + "|" +
                                    reason.detail.text);
    }
}

void print_recommendations(Client& client) {
    const auto found = client.recommend("torch", {.exclude = {"cu132"}, .need_mib = 1024});
    print("recommend", found.variant.value_or("none") + " " + found.verdict.value_or("none") + " " +
                           found.version.value_or("none") + " " + found.platform.value_or("none") +
                           " " + found.gpus.at(0) + " " + found.fallback.at(0));
    print("artifact", found.artifact->type + " " + found.artifact->urls.at(0));
    for (const auto& candidate : found.candidates)
        print("variant", candidate.variant + " " + candidate.verdict + " " +
                             std::to_string(candidate.tier) + " " +
                             std::to_string(candidate.reasons.size()));
    const auto none = client.recommend("torch", {.only = {"rocm7.1"}});
    print("none", none.variant.value_or("none") + " " + none.status);
    print("manifest",
          client
              .recommend(
                  "", {},
                  R"({"schema":"gpuprobe.variants/1","name":"own",
        "platforms":{"linux-x86_64":{"variants":{"plain":{"artifact":{"type":"file",
        "urls":["https://example.org/a"],"size":12,"sha256":)"
                  R"("9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}}}}}})")
              .variant.value_or("none"));
    print_failure("unknown", [&] { client.recommend("nobody"); });
}

void print_plans(Client& client) {
    const auto plan = client.plan({.need = 1U << 30U, .margin = 0, .gpus = {}});
    print("plan", std::to_string(plan.asked.value_or(0)) + " " + std::to_string(plan.margin) + " " +
                      plan.gpus.at(0).fit + " " + plan.host.fit);
    print_failure("plan", [&] { client.plan({.need = 1, .gpus = {"pci:none"}}); });
    print("terms", client.query({"driver>=1"}).terms.at(0).truth);
    print("memory", std::to_string(client.memory(plan.gpus.at(0).gpu).physical.value_or(0)));
    print("report", client.describe().gpus.at(0).id + " " + client.gpus().gpus.at(0).id);
}

void print_findings(Client& client) {
    for (const auto& finding : client.doctor().findings)
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
    print_selections(client);
    print_recommendations(client);
    print_plans(client);
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
