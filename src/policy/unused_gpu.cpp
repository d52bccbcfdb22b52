// SPDX-License-Identifier: Apache-2.0
#include "policy/unused_gpu.h"

#include <utility>

namespace gpuprobe::inline policy {

bool may_be_missed(const Gpu& gpu) {
    return gpu.kind != GpuKind::Virtual && gpu.kind != GpuKind::DisplayOnly;
}

void UnusedGpu::add(const Gpu& gpu, std::vector<Reason> reasons) {
    if (is_told_ || !may_be_missed(gpu))
        return;
    if (has_reason_with(reasons, ReasonTraits::Wished)) {
        is_wished_ = true;
        return;
    }
    is_told_ = !has_reason_with(reasons, ReasonTraits::ByNature);
    if (gpu_ && !is_told_)
        return;
    gpu_ = &gpu;
    reasons_ = std::move(reasons);
}

std::optional<Reason> UnusedGpu::warning() const {
    if (!gpu_ || (is_wished_ && !is_told_))
        return std::nullopt;
    Value::Object detail{{"gpu", gpu_->id}};
    if (!reasons_.empty())
        detail.push_back({"reasons", to_value(reasons_)});
    return because("gpu-unused", std::move(detail));
}

}  // namespace gpuprobe::inline policy
