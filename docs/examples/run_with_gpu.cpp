// SPDX-License-Identifier: Apache-2.0
// Runs a program on the GPU that gpuprobe chooses for it.
//
// Usage: run_with_gpu APPLICATION PROGRAM [ARGUMENT…]
// Build: g++ -std=c++20 run_with_gpu.cpp -lgpuprobe -o run_with_gpu
#include <cstdio>
#include <cstdlib>

#include <gpuprobe/client.h>
#include <unistd.h>

int main(int count, char** words) try {
    if (count < 3)
        return 2;
    gpuprobe::api::Client client;
    const auto choice = client.select(words[1], {.built = {"cuda", "vulkan", "cpu"}});
    for (const auto& message : choice.messages)
        std::fprintf(stderr, "%s\n", message.c_str());
    std::fprintf(stderr, "%s: %s\n", words[2], choice.decision.c_str());
    ::setenv("GPU_BACKEND", choice.backend->c_str(), 1);
    for (const auto& [name, value] : choice.environment)
        ::setenv(name.c_str(), value.c_str(), 1);
    ::execvp(words[2], words + 2);
    std::perror(words[2]);
    return 127;
} catch (const gpuprobe::api::NoMatch& none) {
    std::fprintf(stderr, "no backend fits for %s: %s\n", words[1], none.what());
    for (const auto& candidate : none.candidates())
        for (const auto& reason : candidate.reasons) {
            std::fprintf(stderr, "  %s: %s\n", candidate.backend.c_str(),
                         reason.text.value_or(reason.code).c_str());
            if (reason.fix)
                std::fprintf(stderr, "    fix: %s\n", reason.fix->c_str());
        }
    return 3;
} catch (const gpuprobe::api::Failure& failure) {
    std::fprintf(stderr, "%s: %s\n", failure.name().c_str(), failure.what());
    return 1;
}
