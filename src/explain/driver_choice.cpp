// SPDX-License-Identifier: Apache-2.0
#include "explain/driver_choice.h"

#include <algorithm>
#include <array>
#include <compare>

#include "base/text.h"
#include "base/version.h"
#include "explain/phrase.h"
#include "knowledge/places.h"
#include "policy/known_bad.h"
#include "report/outcome.h"

namespace gpuprobe::inline explain {
namespace {

using knowledge::DriverSupport;
using knowledge::PackageRole;

constexpr std::string_view kNvidia = "nvidia";
constexpr std::string_view kJetson = "l4t";
/// Roles of packages that contain NVIDIA's driver, the most general role first.
constexpr auto kRoles = std::to_array<std::string_view>(
    {"nvidia-driver", "nvidia-driver-open", "nvidia-driver-580", "nvidia-legacy"});

bool is_jetson(const Gpu& gpu) {
    return gpu.id.starts_with("platform:");
}

const DriverSupport* support_of(const Gpu& gpu) {
    const auto& capability = gpu.architecture.cuda_compute_capability;
    return knowledge::Drivers::current().support(is_jetson(gpu) ? kJetson : kNvidia, chip_name(gpu),
                                                 capability.value_or(""));
}

std::uint32_t branch_of(std::string_view version) {
    const auto parsed = leading_version(version);
    return parsed ? parsed->major() : 0;
}

/// Whether the driver branch supports the GPU; `branch` 0 means the newest branch.
bool is_supported(const DriverSupport& support, std::uint32_t branch) {
    if (branch == 0)
        return !support.last;
    return (!support.first || branch >= branch_of(*support.first)) &&
           (!support.last || branch <= branch_of(*support.last));
}

/// Whether a package's driver supports the GPU. If the limits of a GPU are unknown, the newest
/// driver is assumed to support the GPU.
bool serves(const PackageRole& role, const DriverSupport* support) {
    const auto branch = branch_of(role.branch.value_or(""));
    if (!support)
        return branch == 0;
    // Packages without a flavor may contain either flavor of the driver, so they are suitable only
    // for GPUs that work with both flavors.
    const bool has_flavour = !support->flavour || support->flavour == role.flavour;
    return has_flavour && is_supported(*support, branch);
}

/// Whether NVIDIA's driver serves the GPU now. A driver of a flavor that does not support the GPU
/// does not count. If CUDA works on the GPU, the driver serves the GPU, even if the chip's limits
/// exclude this driver.
bool is_served(const Gpu& gpu, const DriverSupport* support) {
    const auto cuda = gpu.backends.find("cuda");
    // The name of the kernel driver may be hidden, so check CUDA first.
    if (cuda != gpu.backends.end() && cuda->second.usable == true)
        return true;
    if (gpu.driver.name != kNvidia)
        return false;
    if (!support)
        return true;
    const bool has_flavour =
        !support->flavour || !gpu.driver.flavour || support->flavour == gpu.driver.flavour;
    return has_flavour &&
           (!gpu.driver.version || is_supported(*support, branch_of(*gpu.driver.version)));
}

}  // namespace

DriverChoice::DriverChoice(const Report& machine) : machine_{machine} {
    for (const auto& gpu : machine.gpus)
        if (gpu.vendor == kNvidia && !has_reason(gpu.findings, "passthrough")) {
            const auto* support = support_of(gpu);
            gpus_.push_back({&gpu, support, is_served(gpu, support)});
        }
}

std::vector<DriverChoice::Served> DriverChoice::selected(std::string_view gpu) const {
    auto found = gpus_;
    if (!gpu.empty())
        std::erase_if(found, [gpu](const Served& one) { return one.gpu->id != gpu; });
    return found;
}

bool DriverChoice::may_install(const PackageRole& role, std::string_view gpu) const {
    const auto fits = [&role](const Served& one) { return serves(role, one.support); };
    const auto targets = selected(gpu);
    const bool is_for_target = gpu.empty() ? targets.empty() || std::ranges::any_of(targets, fits)
                                           : std::ranges::all_of(targets, fits);
    return is_for_target && std::ranges::none_of(gpus_, [&fits](const Served& one) {
               return one.is_served && !fits(one);
           });
}

std::optional<std::string> DriverChoice::role_for(std::string_view gpu) const {
    std::optional<std::string> best;
    std::ptrdiff_t most = -1;
    for (const auto name : kRoles) {
        const auto* role = knowledge::Places::current().role(name);
        if (!role || !may_install(*role, gpu))
            continue;
        const auto number = std::ranges::count_if(
            gpus_, [role](const Served& one) { return serves(*role, one.support); });
        if (number > most) {
            best = name;
            most = number;
        }
    }
    return best;
}

bool DriverChoice::has_package(std::string_view gpu) const {
    const auto targets = selected(gpu);
    return std::ranges::any_of(kRoles, [&targets](std::string_view name) {
        const auto* role = knowledge::Places::current().role(name);
        return role && std::ranges::any_of(targets, [role](const Served& one) {
                   return serves(*role, one.support);
               });
    });
}

std::string DriverChoice::without_role(std::string_view gpu) const {
    std::vector<std::string> others;
    for (const auto& other : gpus_)
        if (other.is_served && other.gpu->id != gpu)
            others.push_back(other.gpu->id);
    if (has_package(gpu) && !others.empty())
        return phrase(
            "use the open driver nouveau for this GPU or for {others}: no NVIDIA driver supports "
            "both",
            {{"others", joined_with_and(others)}});
    const auto targets = selected(gpu);
    const bool has_nouveau = std::ranges::any_of(
        targets, [](const Served& one) { return one.gpu->driver.name == "nouveau"; });
    const auto& setup = machine_.host.setup;
    const bool is_blacklisted =
        setup && setup->blacklist && std::ranges::count(*setup->blacklist, "nouveau") > 0;
    return phrase(
        "{use} the open driver nouveau[, and remove it from the blacklist{first}][: branch {last} "
        "was the last NVIDIA driver for this GPU, and no distribution packages it]",
        {{"use", has_nouveau ? "keep" : "use"},
         {"first", is_blacklisted ? std::optional{std::string{}} : std::nullopt},
         {"last", last_branch(gpu)}});
}

bool DriverChoice::may_update_to(std::string_view gpu, std::string_view version) const {
    const auto wanted = leading_version(version);
    const auto targets = selected(gpu);
    // If a GPU is passed through to a virtual machine, no driver on this machine works with the
    // GPU. The limits of GPUs from other vendors are unknown.
    if (targets.empty())
        return !is_passed_through(gpu);
    return std::ranges::any_of(targets, [&](const Served& one) {
        if (is_jetson(*one.gpu))
            return !one.support || !one.support->last ||
                   branch_of(machine_.host.l4t.value_or("")) < branch_of(*one.support->last);
        if (!wanted)
            return true;
        const bool is_possible =
            !one.support || !one.support->last || wanted->major() <= branch_of(*one.support->last);
        const auto have = leading_version(one.gpu->driver.version.value_or(""));
        return is_possible && !(one.is_served && have && *have >= *wanted);
    });
}

bool DriverChoice::may_support_cuda(std::string_view gpu, std::string_view version) const {
    const auto wanted = leading_version(version);
    const auto targets = selected(gpu);
    if (!wanted || targets.empty())
        return true;
    return std::ranges::any_of(targets, [&](const Served& one) {
        return !one.support || !one.support->cuda || *wanted <= leading_version(*one.support->cuda);
    });
}

bool DriverChoice::is_passed_through(std::string_view gpu) const {
    return std::ranges::any_of(machine_.gpus, [gpu](const Gpu& one) {
        return one.id == gpu && has_reason(one.findings, "passthrough");
    });
}

bool DriverChoice::is_about(std::string_view gpu) const {
    return !selected(gpu).empty();
}

std::optional<std::string> DriverChoice::last_branch(std::string_view gpu) const {
    const auto targets = selected(gpu);
    return targets.size() == 1 && targets.front().support ? targets.front().support->last
                                                          : std::nullopt;
}

bool DriverChoice::is_of_l4t(std::string_view gpu) const {
    const auto targets = selected(gpu);
    return !targets.empty() &&
           std::ranges::all_of(targets, [](const Served& one) { return is_jetson(*one.gpu); });
}

}  // namespace gpuprobe::inline explain
