// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "plan/gguf.h"
#include "plan/plan.h"

namespace {

using namespace gpuprobe;

/// Checks that more memory never makes the result worse.
void check_placement(const Model& model) {
    for (const std::uint64_t context : {std::uint64_t{1}, std::uint64_t{4096}, kMaxContext}) {
        const Load load{.model = &model, .run = {.context = context, .streams = 3}};
        const auto small = fit_of(load, {{.budget = gib(8), .overhead = mib(300)}});
        const auto large = fit_of(load, {{.budget = gib(16), .overhead = mib(300)}});
        if (large > small)  // Fits before Tight before No
            std::abort();
    }
    (void)max_context_of({.model = &model}, {{.budget = gib(80)}, {.budget = gib(8)}});
}

}  // namespace

/// Reads a model's header as a complete file and as the beginning of a file. Plans the model.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view bytes{reinterpret_cast<const char*>(data), size};
    const auto whole = parse_gguf(bytes, Bytes{size});
    const auto beginning = parse_gguf(bytes, Bytes{std::numeric_limits<std::uint64_t>::max()});
    if (whole && (!*whole || !beginning || !*beginning))
        std::abort();  // a complete file contains its whole header, and may also be the
                       // beginning of a longer file
    if (!beginning || !*beginning)
        return 0;
    if (const auto model = model_of(**beginning))
        check_placement(*model);
    return 0;
}
