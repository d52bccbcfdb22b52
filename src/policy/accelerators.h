// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "policy/profile.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// The machine as a selection sees it: a ComputeView, with each accelerator that one of the
/// profile's backends may use in the form of a GPU. Backends that use GPUs through an API, such as
/// openvino, have the verdict of that API on each GPU. Borrows the report and the profile.
class SelectionMachine {
public:
    SelectionMachine(const Profile& profile, const Report& report);
    [[nodiscard]] const Report& report() const { return extended_ ? *extended_ : view_.report(); }
    /// The machine without its accelerators, for decisions about variants.
    [[nodiscard]] const Report& gpus_only() const { return view_.report(); }

private:
    ComputeView view_;
    std::optional<Report> extended_ = {};
};

/// The verdict on the backend on a GPU: the verdict of the API through which the runtime uses GPUs,
/// except that the runtime does not list a GPU with an older version of that API than it needs.
/// nullopt if the runtime uses no GPU, or if the GPU has no verdict of that API.
std::optional<BackendView> gpu_verdict(const AcceleratorBackend& backend, const Gpu& gpu);

/// Whether this GPU of a SelectionMachine represents an accelerator.
bool is_accelerator(const Report& report, const Gpu& gpu);

/// Whether the backend may use this GPU, or the accelerator that the GPU represents.
bool is_for(std::string_view backend, const Report& report, const Gpu& gpu);

}  // namespace gpuprobe::inline policy
