// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "report/report.h"

namespace gpuprobe::support {

/// The report of a laptop with two GPUs, as input for decisions.
inline const Report& known_report() {
    static const Report report = [] {
        std::ifstream file{GPUPROBE_SOURCE_DIR "/tests/data/golden/report-laptop.json"};
        const std::string text{std::istreambuf_iterator<char>{file}, {}};
        auto parsed = parse_report(text);
        if (!parsed)
            std::abort();
        return std::move(parsed).value();
    }();
    return report;
}

}  // namespace gpuprobe::support
