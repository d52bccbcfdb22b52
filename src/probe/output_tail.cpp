// SPDX-License-Identifier: Apache-2.0
#include "probe/output_tail.h"

#include <algorithm>

#include "base/parse.h"

namespace gpuprobe::inline probe {
namespace {

constexpr std::size_t kMaxTail = 4096;
constexpr std::size_t kMaxLines = 32;

std::string_view last(std::string_view text) {
    return text.substr(text.size() - std::min(text.size(), kMaxTail));
}

}  // namespace

void OutputTail::add(std::string_view bytes) {
    tail_ += last(bytes);
    tail_.erase(0, tail_.size() - last(tail_).size());
}

std::vector<std::string> OutputTail::lines() const {
    std::vector<std::string> lines;
    for (const auto line : split(tail_, '\n'))
        if (auto text = scrubbed(trimmed(line)); !text.empty())
            lines.push_back(std::move(text));
    if (lines.size() > kMaxLines)
        lines.erase(lines.begin(), lines.end() - static_cast<std::ptrdiff_t>(kMaxLines));
    return lines;
}

}  // namespace gpuprobe::inline probe
