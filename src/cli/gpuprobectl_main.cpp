// SPDX-License-Identifier: Apache-2.0
#include <clocale>
#include <exception>
#include <string>

#include "cli/context.h"
#include "cli/run.h"

int main(int argc, char** argv) try {
    (void)std::setlocale(LC_CTYPE, "");  // only to learn whether the terminal reads UTF-8
    return gpuprobe::run({argv + (argc > 0 ? 1 : 0), argv + argc});
} catch (const std::exception& problem) {
    gpuprobe::print_error("gpuprobectl: unexpected error: " + std::string{problem.what()} + "\n");
    return 1;
}
