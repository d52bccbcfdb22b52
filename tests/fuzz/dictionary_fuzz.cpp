// SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "base/value.h"
#include "fuzz/input.h"
#include "wire/dictionary.h"

using namespace gpuprobe;

/// Data on its way through the bus: what is sent can be read as a request.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto value = parse_json(support::text_of_input(data, size), kib(64));
    if (!value)
        return 0;
    const auto dictionary = bus::dictionary_from(*value);
    (void)bus::value_from(dictionary);
    (void)bus::value_from(bus::variant_from(*value));
    return 0;
}
