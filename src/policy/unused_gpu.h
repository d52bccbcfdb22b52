// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/nearness.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// Why an answer that takes no GPU takes none: collected from what could have used one.
class UnusedGpu {
public:
    /// A backend or variant, `by`, that may not be used on that GPU. GPUs and what could use them
    /// in the order in which they would be taken; of the equally near, what asks less comes first.
    void add(const Gpu& gpu, std::string_view by, std::vector<Reason> reasons);
    /// "gpu-unused", of the GPU that misses least by what is nearest on it. nullopt where nothing
    /// was added, or where it was wanted so.
    [[nodiscard]] std::optional<Reason> warning() const;

private:
    struct Entry {
        const Gpu* gpu = nullptr;
        std::optional<Nearness> nearness = {};
        bool is_wished = false;
        std::string by = {};
        std::vector<Reason> reasons = {};
        [[nodiscard]] bool counts() const {
            return nearness && (!is_wished || *nearness > Nearness::OtherBuild);
        }
    };
    Entry& entry_of(const Gpu& gpu);

    std::vector<Entry> entries_ = {};
};

/// A GPU that somebody may miss: not one that is made up, or shows pixels alone.
bool may_be_missed(const Gpu& gpu);

}  // namespace gpuprobe::inline policy
