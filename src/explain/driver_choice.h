// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/drivers.h"
#include "knowledge/places.h"
#include "report/report.h"

namespace gpuprobe::inline explain {

/// The NVIDIA drivers that are possible on a machine. A new driver must support the GPU for which
/// it is installed, and must support every other GPU that the current driver serves. The limits of
/// each chip are in data/knowledge/drivers.json.
class DriverChoice {
public:
    /// `machine` is borrowed and must outlive this object.
    explicit DriverChoice(const Report& machine);
    DriverChoice(const Report&& machine) = delete;

    /// The role of the packages (knowledge/places.h) with the newest driver for `gpu` or, if `gpu`
    /// is empty, with the newest driver for as many GPUs as possible. If several roles are equally
    /// good, the result is the role whose driver supports most of the other GPUs; nullopt if no
    /// role has a suitable driver.
    [[nodiscard]] std::optional<std::string> role_for(std::string_view gpu) const;
    /// True if the driver of a role supports the GPU, or any GPU if `gpu` is empty, and also
    /// supports every GPU that the current driver serves.
    [[nodiscard]] bool may_install(const knowledge::PackageRole& role, std::string_view gpu) const;
    /// The advice that is given if role_for() has no result.
    [[nodiscard]] std::string without_role(std::string_view gpu) const;

    /// False if no driver of at least `version` supports `gpu` (any GPU if `gpu` is empty). Also
    /// false if the GPU already has a driver of at least `version`.
    [[nodiscard]] bool may_update_to(std::string_view gpu, std::string_view version) const;
    /// Like may_update_to(), but `version` is a version of CUDA that the driver must support.
    [[nodiscard]] bool may_support_cuda(std::string_view gpu, std::string_view version) const;
    /// True if the GPU has or could have an NVIDIA driver. False for GPUs from other vendors.
    [[nodiscard]] bool is_about(std::string_view gpu) const;
    /// The last driver branch that supports the GPU; nullopt if the branch is unknown or newer
    /// branches still support the GPU.
    [[nodiscard]] std::optional<std::string> last_branch(std::string_view gpu) const;
    /// True if the GPU is reserved for virtual machines, so that no driver on this machine works
    /// with it.
    [[nodiscard]] bool is_passed_through(std::string_view gpu) const;
    /// True if the GPU's driver is part of NVIDIA's Jetson Linux, which has its own versions.
    [[nodiscard]] bool is_of_l4t(std::string_view gpu) const;

private:
    struct Served {
        const Gpu* gpu = nullptr;
        const knowledge::DriverSupport* support = nullptr;  ///< null if unknown
        bool is_served = false;  ///< whether NVIDIA's driver serves the GPU now
    };
    /// True if at least one role has a driver that supports the GPU.
    [[nodiscard]] bool has_package(std::string_view gpu) const;
    /// The GPU with the id `gpu`; all GPUs if `gpu` is empty.
    [[nodiscard]] std::vector<Served> selected(std::string_view gpu) const;

    const Report& machine_;
    std::vector<Served> gpus_ = {};  ///< all NVIDIA GPUs that aren't reserved for virtual machines
};

}  // namespace gpuprobe::inline explain
