// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/nearness.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// Explains why an answer leaves every GPU unused. Collects the rejected candidates for each GPU.
class UnusedGpu {
public:
    /// Adds a backend or variant, `by`, that must not be used on that GPU. Call it in order of
    /// preference for GPUs and candidates. Among equally close misses, the one with the lower
    /// minimums wins.
    void add(const Gpu& gpu, std::string_view by, std::vector<Reason> reasons);
    /// The warning "gpu-unused" for the GPU with the closest miss, with that candidate's reasons.
    /// nullopt if nothing was added or the caller wanted it so.
    [[nodiscard]] std::optional<Reason> warning() const;

private:
    /// The closest miss on one GPU so far.
    struct Entry {
        const Gpu* gpu = nullptr;
        std::optional<Nearness> nearness = {};
        bool is_wished = false;
        std::string by = {};
        std::vector<Reason> reasons = {};
        /// Whether the GPU is worth a warning. If the user excluded a candidate, only changeable
        /// causes are.
        [[nodiscard]] bool counts() const {
            return nearness && (!is_wished || *nearness > Nearness::OtherBuild);
        }
    };
    Entry& entry_of(const Gpu& gpu);

    std::vector<Entry> entries_ = {};
};

/// Whether the GPU is a real one that can compute.
bool may_be_missed(const Gpu& gpu);

}  // namespace gpuprobe::inline policy
