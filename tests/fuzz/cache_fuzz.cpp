// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "fuzz/input.h"
#include "fuzz/kept_file.h"
#include "store/probe_history.h"

/// Loads stored probe results. Results that can be loaded are the same after they are saved again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    static const support::KeptFile file{"probes", "gpuprobe-cache 2"};
    file.write(support::text_of_input(data, size));
    const store::ProbeCache cache{file.path()};
    const auto cached = cache.load("seed");
    if (!cached)
        return 0;
    if (!cache.save("seed", *cached))
        std::abort();
    const auto again = cache.load("seed");
    if (!again || again->queries.size() != cached->queries.size() ||
        again->trials.size() != cached->trials.size())
        std::abort();
    return 0;
}
