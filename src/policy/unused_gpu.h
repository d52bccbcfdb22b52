// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "report/report.h"

namespace gpuprobe::inline policy {

/// Why an answer that takes no GPU takes none: collected from what could have used one.
class UnusedGpu {
public:
    /// Something that may not be used on that GPU, in the order in which it would be taken.
    void add(const Gpu& gpu, std::vector<Reason> reasons);
    /// Whether one was added whose reasons say more than that it is for other GPUs.
    [[nodiscard]] bool is_told() const { return is_told_; }
    /// "gpu-unused". nullopt where nothing was added, or where it was wanted so.
    [[nodiscard]] std::optional<Reason> warning() const;

private:
    const Gpu* gpu_ = nullptr;
    std::vector<Reason> reasons_ = {};
    bool is_told_ = false;
    bool is_wished_ = false;
};

/// A GPU that somebody may miss: not one that is made up, or shows pixels alone.
bool may_be_missed(const Gpu& gpu);

}  // namespace gpuprobe::inline policy
