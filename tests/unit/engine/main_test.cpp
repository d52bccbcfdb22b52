// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <gtest/gtest.h>

#include "fakes/worker/machine_worker.h"

// This program runs the tests, or is one of the workers that the tests start.
int main(int argc, char** argv) {
    if (argc > 1 && !std::string_view{argv[1]}.starts_with("-"))
        return gpuprobe::machine_worker::run(argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
