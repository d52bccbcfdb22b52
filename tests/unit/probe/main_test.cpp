// SPDX-License-Identifier: Apache-2.0
#include <string_view>

#include <gtest/gtest.h>

#include "fakes/worker/scripted_worker.h"
#include "probe/launcher.h"

// This program runs the tests, or is one of the workers that the tests start.
int main(int argc, char** argv) {
    if (argc > 1 && argv[1] == gpuprobe::kWaitsForJob)
        return gpuprobe::scripted::run_job(argv[0]);
    if (argc > 1 && !std::string_view{argv[1]}.starts_with("-"))
        return gpuprobe::scripted::run(argc, argv);
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
}
