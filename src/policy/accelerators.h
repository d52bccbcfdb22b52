// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "policy/profile.h"
#include "report/api_table.h"
#include "report/compute_view.h"
#include "report/report.h"

namespace gpuprobe::inline policy {

/// The machine as a selection sees it, which is a ComputeView in which each accelerator that one of
/// the profile's backends may use has the form of a GPU. A backend that uses GPUs through an API,
/// such as openvino, gets the API's verdict on each GPU. The object borrows the report and the
/// profile.
class SelectionMachine {
public:
    SelectionMachine(const Profile& profile, const Report& report);
    [[nodiscard]] const Report& report() const { return extended_ ? *extended_ : view_.report(); }
    /// The machine without its accelerators, which decisions about variants need.
    [[nodiscard]] const Report& gpus_only() const { return view_.report(); }

private:
    ComputeView view_;
    std::optional<Report> extended_ = {};
};

/// The verdict on the backend for a GPU: the verdict of the API through which the backend uses
/// GPUs, or "unusable" if the GPU's version of that API is too old for the backend; nullopt if the
/// backend does not use GPUs, or if the GPU has no verdict of that API.
std::optional<BackendView> gpu_verdict(const AcceleratorBackend& backend, const Gpu& gpu);

/// Whether a GPU of a SelectionMachine represents an accelerator.
bool is_accelerator(const Report& report, const Gpu& gpu);

/// Whether the backend may use a GPU, or the accelerator that the GPU represents.
bool is_for(std::string_view backend, const Report& report, const Gpu& gpu);

}  // namespace gpuprobe::inline policy
