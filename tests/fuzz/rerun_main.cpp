// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr int kChangesPerSeed = 40;

void run(const std::string& input) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

/// The seed with a few bytes changed. Sometimes a piece is removed, or the end is cut off.
std::string changed(std::string input, std::mt19937& random) {
    const auto below = [&random](std::size_t limit) { return random() % limit; };
    for (auto left = 1 + below(8); left > 0 && !input.empty(); --left)
        input[below(input.size())] = static_cast<char>(below(256));
    if (!input.empty() && below(3) == 0)
        input.erase(below(input.size()), 1 + below(64));
    if (!input.empty() && below(4) == 0)
        input.resize(below(input.size()));
    return input;
}

}  // namespace

// Replaces libFuzzer: runs each named file, and changed copies that are the same in each run.
int main(int argc, char** argv) {
    std::mt19937 random;  // NOLINT: the same seed in every run
    int runs = 0;
    for (int i = 1; i < argc; ++i) {
        std::ifstream file{argv[i], std::ios::binary};
        const std::string seed{std::istreambuf_iterator<char>{file}, {}};
        run(seed);
        for (int change = 0; change < kChangesPerSeed; ++change, ++runs)
            run(changed(seed, random));
    }
    std::cout << runs << " changed inputs from " << argc - 1 << " seeds\n";
    return runs > 0 ? 0 : 1;
}
