// SPDX-License-Identifier: Apache-2.0
// Makes the calls on standard input, a line "METHOD<TAB>PARAMETERS" each, on the socket in the
// argument, and prints a line with the answer, or "refused", for each.
#include <iostream>

#include <gpuprobe/client.h>

int main(int /*count*/, char** words) {
    gpuprobe::api::Client client{words[1], GPUPROBE_DAEMON_ONLY};
    std::string line;
    while (std::getline(std::cin, line)) {
        const auto tab = line.find('\t');
        try {
            std::cout << client.call(line.substr(0, tab), line.substr(tab + 1)) << '\n';
        } catch (const gpuprobe::api::Failure&) {
            std::cout << "refused\n";
        }
    }
}
