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

/// The NVIDIA drivers that are possible on a machine. A new driver must serve the GPU that it is
/// for, and must not take another GPU away from the programs that use it. The limits of each chip
/// are in data/knowledge/drivers.json.
class DriverChoice {
public:
    /// `machine` is borrowed and must outlive this object.
    explicit DriverChoice(const Report& machine);
    DriverChoice(const Report&& machine) = delete;

    /// The role of the packages (knowledge/places.h) with the newest driver for the GPU, or for as
    /// many GPUs as possible if `gpu` is empty; of equal ones, the one for most other GPUs. nullopt
    /// if there is none.
    [[nodiscard]] std::optional<std::string> role_for(std::string_view gpu) const;
    /// True if the driver of a role serves the GPU, or any GPU if `gpu` is empty, and takes none
    /// away.
    [[nodiscard]] bool may_install(const knowledge::PackageRole& role, std::string_view gpu) const;
    /// The advice to give instead if role_for() has no value.
    [[nodiscard]] std::string without_role(std::string_view gpu) const;

    /// False if no driver of at least that version serves the GPU, or any GPU if `gpu` is empty;
    /// or if the GPU has one already.
    [[nodiscard]] bool may_update_to(std::string_view gpu, std::string_view version) const;
    /// The same for a driver that supports a version of CUDA.
    [[nodiscard]] bool may_support_cuda(std::string_view gpu, std::string_view version) const;
    /// True if the GPU has one of these drivers or could have one: not for other vendors' GPUs.
    [[nodiscard]] bool is_about(std::string_view gpu) const;
    /// The last driver branch for the GPU, if that is known and there is one.
    [[nodiscard]] std::optional<std::string> last_branch(std::string_view gpu) const;
    /// True if the GPU is reserved for virtual machines: no driver of this machine works on it.
    [[nodiscard]] bool is_passed_through(std::string_view gpu) const;
    /// True if the GPU's driver is part of NVIDIA's Jetson Linux, which has its own versions.
    [[nodiscard]] bool is_of_l4t(std::string_view gpu) const;

private:
    struct Served {
        const Gpu* gpu = nullptr;
        const knowledge::DriverSupport* support = nullptr;  ///< null: unknown
        bool is_served = false;                             ///< NVIDIA's driver serves it now
    };
    /// True if some role's driver serves the GPU.
    [[nodiscard]] bool has_package(std::string_view gpu) const;
    /// The GPUs that the id selects: all of them if it is empty.
    [[nodiscard]] std::vector<Served> selected(std::string_view gpu) const;

    const Report& machine_;
    std::vector<Served> gpus_ = {};  ///< all NVIDIA GPUs that are not reserved for virtual machines
};

}  // namespace gpuprobe::inline explain
