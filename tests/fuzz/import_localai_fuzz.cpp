// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/value_json.h"
#include "fuzz/input.h"
#include "policy/import_manifest.h"
#include "policy/manifest.h"

/// LocalAI's list of backends and, before it, the one that is meant: what is made of them is a
/// manifest.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto [first, second] =
        testing::halves_at(testing::text_of_input(data, size), testing::kSecondDocument);
    const auto imported = import_localai(second, first);
    if (imported && !parse_manifest(json_line(imported->manifest)))
        std::abort();
    return 0;
}
