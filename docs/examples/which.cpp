// SPDX-License-Identifier: Apache-2.0
// Prints which build of PyTorch to download and why other builds do not fit, and prints the new
// answer after each change.
#include <iostream>

#include <gpuprobe/client.h>
#include <poll.h>

std::string addresses(const std::optional<gpuprobe::api::Artifact>& artifact) {
    std::string text;
    for (const auto& url : artifact ? artifact->urls : std::vector<std::string>{})
        text += (text.empty() ? "" : " ") + url;
    return text;
}

int main() {
    gpuprobe::api::Client client;
    pollfd changes{.fd = client.watch(), .events = POLLIN, .revents = 0};
    while (::poll(&changes, 1, -1) == 1) {
        while (client.next_change())
            ;  // one answer is enough for all changes until now
        const auto answer = client.recommend("torch");
        std::cout << "download: " << answer.variant.value_or("nothing") << " ["
                  << addresses(answer.artifact) << "]\n";
        for (const auto& each : answer.candidates)
            std::cout << "  " << each.variant << ' ' << each.verdict << ' ' << each.why.value_or("")
                      << '\n';
        std::cout.flush();
    }
}
