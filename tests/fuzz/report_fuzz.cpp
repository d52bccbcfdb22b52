// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <cstdlib>

#include "base/value.h"
#include "report/report.h"

/// Reads a report like a client. A report is the same after it has been written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace gpuprobe;
    const auto report = parse_report({reinterpret_cast<const char*>(data), size});
    if (!report)
        return 0;
    const auto text = json_line(to_value(*report));
    const auto again = parse_report(text);
    if (!again || json_line(to_value(*again)) != text)
        std::abort();
    return 0;
}
