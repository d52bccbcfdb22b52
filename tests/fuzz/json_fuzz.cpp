// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/value.h"
#include "fuzz/input.h"

/// Reads JSON with the parser for all documents, requests and frames. A value must be the same
/// after it has been written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto value = parse_json(support::text_of_input(data, size), kib(256));
    if (!value)
        return 0;
    const auto line = json_line(*value);
    const auto again = parse_json(line, mib(16));
    if (!again || json_line(*again) != line || line.find('\n') != std::string::npos)
        std::abort();
    const auto pretty = parse_json(json_pretty(*value), mib(64));
    if (!pretty || json_line(*pretty) != line)
        std::abort();
    return 0;
}
