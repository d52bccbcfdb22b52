// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "fuzz/input.h"
#include "fuzz/kept_file.h"
#include "store/probe_cache.h"

/// What was kept of past probes: what can be read is the same when kept and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    static const testing::KeptFile file{"probes", "gpuprobe-cache 2"};
    file.write(testing::text_of_input(data, size));
    const ProbeCache cache{file.path()};
    const auto answers = cache.load("seed");
    if (!answers)
        return 0;
    if (!cache.save("seed", *answers))
        std::abort();
    const auto again = cache.load("seed");
    if (!again || again->probes.size() != answers->probes.size() ||
        again->trials.size() != answers->trials.size())
        std::abort();
    return 0;
}
