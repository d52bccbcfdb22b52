// SPDX-License-Identifier: Apache-2.0
#include "plan/graph_memory.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>

#include "plan/size_math.h"

namespace gpuprobe::inline plan {
namespace {

/// Free blocks by offset, and the end of the used memory, after which everything is free.
class Blocks {
public:
    explicit Blocks(std::uint64_t alignment) : alignment_{alignment} {}

    [[nodiscard]] std::uint64_t rounded(std::uint64_t bytes) const {
        return sum(bytes, alignment_ - 1) / alignment_ * alignment_;
    }

    /// Takes the smallest block that is large enough; of equal ones the last, as ggml does.
    std::uint64_t take(std::uint64_t bytes) {
        auto best = free_.end();
        for (auto block = free_.begin(); block != free_.end(); ++block)
            if (block->second >= bytes && (best == free_.end() || block->second <= best->second))
                best = block;
        // No free block is large enough: extend the used memory.
        if (best == free_.end()) {
            const auto offset = end_;
            end_ = sum(end_, bytes);
            peak_ = std::max(peak_, end_);
            return offset;
        }
        const auto [offset, size] = *best;
        free_.erase(best);
        if (size > bytes)
            free_.emplace(offset + bytes, size - bytes);
        return offset;
    }

    /// Frees a block and merges it with its free neighbors.
    void give(std::uint64_t offset, std::uint64_t bytes) {
        auto next = free_.lower_bound(offset);
        if (next != free_.begin()) {
            const auto before = std::prev(next);
            if (before->first + before->second == offset) {
                offset = before->first;
                bytes += before->second;
                free_.erase(before);
            }
        }
        if (next != free_.end() && offset + bytes == next->first) {
            bytes += next->second;
            free_.erase(next);
        }
        // A block at the end is not kept: the used memory shrinks.
        if (offset + bytes == end_)
            end_ = offset;
        else
            free_.emplace(offset, bytes);
    }

    [[nodiscard]] std::uint64_t peak() const { return peak_; }

private:
    std::uint64_t alignment_;
    std::map<std::uint64_t, std::uint64_t> free_ = {};
    std::uint64_t end_ = 0;
    std::uint64_t peak_ = 0;
};

}  // namespace

GraphMemory::Tensor GraphMemory::step(Step step, const std::vector<Tensor>& sources) {
    step.first_source = sources_.size();
    step.sources = sources.size();
    for (const auto source : sources)
        ++readers_[source];
    sources_.insert(sources_.end(), sources.begin(), sources.end());
    steps_.push_back(step);
    readers_.push_back(0);
    return steps_.size() - 1;
}

GraphMemory::Tensor GraphMemory::input(std::uint64_t bytes) {
    inputs_.push_back(step({.bytes = bytes}, {}));
    return inputs_.back();
}

GraphMemory::Tensor GraphMemory::in_place(std::uint64_t bytes, const std::vector<Tensor>& sources) {
    return step({.bytes = bytes, .may_reuse = true}, sources);
}

GraphMemory::Tensor GraphMemory::result(std::uint64_t bytes, const std::vector<Tensor>& sources) {
    return step({.bytes = bytes}, sources);
}

void GraphMemory::read(const std::vector<Tensor>& sources) {
    (void)step({.has_result = false}, sources);
}

Bytes GraphMemory::peak(std::uint64_t alignment) const {
    constexpr auto kMaxTensor = 1ULL << 44U;  // fits nowhere; keeps sums far below 2^64
    if (std::ranges::any_of(steps_, [](const Step& step) { return step.bytes > kMaxTensor; }))
        return Bytes{kTooMany};
    // Replay the steps: first all inputs, then each result in turn.
    Blocks blocks{alignment};
    std::vector<std::optional<std::uint64_t>> place(steps_.size());
    auto readers = readers_;
    for (const auto input : inputs_)
        place[input] = blocks.take(blocks.rounded(steps_[input].bytes));
    for (Tensor i = 0; i < steps_.size(); ++i) {
        const auto& step = steps_[i];
        const auto* source = sources_.data() + step.first_source;
        // Reuse the memory of a source that has no other reader.
        for (std::size_t k = 0; step.may_reuse && !place[i] && k < step.sources; ++k)
            if (place[source[k]] && readers[source[k]] == 1 &&
                steps_[source[k]].bytes == step.bytes)
                std::swap(place[i], place[source[k]]);
        if (!place[i] && step.has_result)
            place[i] = blocks.take(blocks.rounded(step.bytes));
        // Free sources that were read for the last time.
        for (std::size_t k = 0; k < step.sources; ++k) {
            const auto read = source[k];
            if (--readers[read] == 0 && place[read]) {
                blocks.give(*place[read], blocks.rounded(steps_[read].bytes));
                place[read].reset();
            }
        }
    }
    return Bytes{blocks.peak()};
}

}  // namespace gpuprobe::inline plan
