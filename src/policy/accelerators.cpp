// SPDX-License-Identifier: Apache-2.0
#include "policy/accelerators.h"

#include <algorithm>

#include "base/text.h"
#include "base/version.h"
#include "report/gpu_views.h"
#include "report/reason_table.h"

namespace gpuprobe::inline policy {
namespace {

/// The findings about the accelerator that prevent programs from using the accelerator.
std::vector<Reason> obstacles_of(const Accelerator& accelerator) {
    std::vector<Reason> reasons;
    for (const auto& finding : accelerator.findings)
        if (const auto* info = find_reason(finding.code);
            info && info->effect == ReasonEffect::Ends)
            reasons.push_back(finding);
    return reasons;
}

/// Whether the host has one of the libraries; nullopt if the host's libraries are unknown.
std::optional<bool> has_library(const Host& host, std::string_view stems) {
    if (stems.empty())
        return true;
    if (!host.libraries)
        return std::nullopt;
    return std::ranges::any_of(*host.libraries, [stems](std::string_view soname) {
        return has_word(stems, soname.substr(0, std::min(soname.find(".so"), soname.size())));
    });
}

/// The name of the backend's first library, spelled as in reasons.
std::string library_name(const AcceleratorBackend& backend) {
    return std::string{words(backend.libraries).front()} + ".so";
}

/// Represents the accelerator as a GPU without backends.
Gpu gpu_of(const Accelerator& accelerator) {
    Gpu gpu{.id = accelerator.id,
            .vendor = accelerator.vendor,
            .name = accelerator.name,
            .pci = accelerator.pci,
            .driver = accelerator.driver,
            .nodes = accelerator.nodes};
    gpu.memory.physical = accelerator.memory;
    gpu.memory.allocatable = accelerator.memory;
    gpu.health = accelerator.health.value_or("ok");
    gpu.findings = accelerator.findings;
    return gpu;
}

/// The verdict on a backend for an accelerator, based on the kernel's data and the host's
/// libraries.
BackendView view_of(const AcceleratorBackend& backend,
                    const Accelerator& accelerator,
                    const Host& host,
                    bool is_bundled) {
    if (auto obstacles = obstacles_of(accelerator); !obstacles.empty())
        return {.usable = false, .reasons = std::move(obstacles)};
    if (auto shut = shut_nodes(backend.name, {}, gpu_of(accelerator)); !shut.empty())
        return {.usable = false, .reasons = std::move(shut)};
    const auto unknown = [](const std::string& requirement) {
        return BackendView{
            .reasons = {because("requirement-unknown", {{"requirement", requirement}})}};
    };
    const auto& driver = accelerator.driver.name;
    if (!driver)
        return unknown("kernel-driver=" + std::string{words(backend.kernel_drivers).front()});
    if (!works_with(backend.kernel_drivers, *driver))
        return {.usable = false,
                .reasons = {
                    because("kernel-driver-unfit", {{"driver", *driver}, {"api", backend.name}})}};
    const auto has = is_bundled ? std::optional{true} : has_library(host, backend.libraries);
    if (!has)
        return unknown("library=" + library_name(backend));
    if (!*has)
        return {.usable = false,
                .reasons = {because("library-missing", {{"missing", library_name(backend)}})}};
    return {.usable = true};
}

/// The rows of the table for those backends in the profile that use accelerators.
std::vector<const AcceleratorBackend*> rows_of(const Profile& profile) {
    std::vector<const AcceleratorBackend*> rows;
    for (const auto& backend : profile.backends)
        if (const auto* row = find_accelerator_backend(backend))
            rows.push_back(row);
    return rows;
}

/// Adds the verdict on a backend to each GPU.
void add_to_gpus(const AcceleratorBackend& backend, std::vector<Gpu>& gpus) {
    for (auto& gpu : gpus)
        if (auto verdict = gpu_verdict(backend, gpu))
            gpu.backends.try_emplace(std::string{backend.name}, std::move(*verdict));
}

}  // namespace

std::optional<BackendView> gpu_verdict(const AcceleratorBackend& backend, const Gpu& gpu) {
    const auto verdict = gpu.backends.find(std::string{gpu_backend_of(backend.name)});
    if (!backend.gpu_api || verdict == gpu.backends.end())
        return std::nullopt;
    const std::string api{info_of(*backend.gpu_api).word};
    const auto view = gpu.apis.find(api);
    const auto have = view == gpu.apis.end() || !view->second.version
                          ? std::nullopt
                          : leading_version(*view->second.version);
    if (verdict->second.usable != true || !have || have >= leading_version(backend.min_gpu_api))
        return verdict->second;
    return BackendView{
        .usable = false,
        .reasons = {because("requirement-unmet",
                            {{"requirement", api + ">=" + std::string{backend.min_gpu_api}},
                             {"have", text_of(*have)}})}};
}

SelectionMachine::SelectionMachine(const Profile& profile, const Report& report) : view_{report} {
    const auto rows = rows_of(profile);
    if (rows.empty())
        return;
    extended_ = view_.report();
    for (const auto* row : rows)
        add_to_gpus(*row, extended_->gpus);
    for (const auto& accelerator : extended_->accelerators) {
        auto gpu = gpu_of(accelerator);
        for (const auto* row : rows)
            if (accelerator.vendor == row->vendor)
                gpu.backends[std::string{row->name}] =
                    view_of(*row, accelerator, extended_->host,
                            contains(profile.bundles, std::string{row->name}));
        if (!gpu.backends.empty())
            extended_->gpus.push_back(std::move(gpu));
    }
}

bool is_accelerator(const Report& report, const Gpu& gpu) {
    return std::ranges::find(report.accelerators, gpu.id, &Accelerator::id) !=
           report.accelerators.end();
}

bool is_for(std::string_view backend, const Report& report, const Gpu& gpu) {
    return gpu.backends.contains(std::string{backend}) ||
           (api_of_backend(backend) && !is_accelerator(report, gpu));
}

}  // namespace gpuprobe::inline policy
