// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/value.h"
#include "fuzz/input.h"
#include "policy/decision.h"
#include "report/report.h"
#include "wire/dictionary.h"

namespace {

using namespace gpuprobe;

/// Runs a decoder of the client on an answer; a wrong type may only be an error of the bus.
template <class Decoder>
void check(Decoder decoder) try {
    (void)decoder();
} catch (const sdbus::Error&) {
}

}  // namespace

/// Data on its way through the bus: what is sent can be read again, also by a client that meets a
/// daemon which answers anything.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto value = parse_json(support::text_of_input(data, size), kib(64));
    if (!value)
        return 0;
    const auto dictionary = bus::dictionary_from(*value);
    (void)bus::value_from(dictionary);
    (void)bus::value_from(bus::variant_from(*value));
    (void)bus::data_from(bus::variant_from(*value));
    check([&] { return bus::record_of<Decision>(dictionary); });
    check([&] { return bus::record_of<Recommendation>(dictionary); });
    check([&] { return bus::record_of<GpuMemory>(dictionary); });
    return 0;
}
