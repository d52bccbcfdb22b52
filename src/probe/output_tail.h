// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gpuprobe::inline probe {

/// The end of what a worker prints: drivers say there why they fail, and some never stop.
class OutputTail {
public:
    void add(std::string_view bytes);
    /// The last lines, scrubbed and without empty ones; at most 4 KiB and 32 lines.
    [[nodiscard]] std::vector<std::string> lines() const;

private:
    std::string tail_ = {};
};

}  // namespace gpuprobe::inline probe
