// SPDX-License-Identifier: Apache-2.0
#include "engine/trial_targets.h"

#include <algorithm>
#include <array>

#include "report/trials.h"

namespace gpuprobe {
namespace {

/// APIs that run kernels, with the backend whose word on usability counts.
struct ComputingApi {
    std::string_view api;
    std::string_view backend;
};
constexpr std::array<ComputingApi, 5> kComputing{{{"cuda", "cuda"},
                                                  {"hip", "rocm"},
                                                  {"level_zero", "sycl"},
                                                  {"vulkan", "vulkan"},
                                                  {"opencl", "opencl"}}};

template <class Names>
bool is_among(const Names& names, std::string_view name) {
    return names.empty() || std::ranges::find(names, name) != names.end();
}

/// The query's target, turned to one device of it. nullopt where that driver is not offered or the
/// device has no key.
std::optional<ProbeTarget> target_for(const std::vector<ProbeTarget>& queries,
                                      std::string_view api,
                                      const std::optional<std::string>& driver,
                                      const Value& device,
                                      const std::string& stage) {
    const auto found = std::ranges::find_if(queries, [&](const ProbeTarget& query) {
        return query.api == api && (query.driver.empty() || query.driver == driver);
    });
    const auto facts = facts_from(device);
    const auto key = facts ? device_key(*facts) : std::nullopt;
    if (found == queries.end() || !key)
        return std::nullopt;
    auto target = *found;
    target.stage = stage;
    target.device = key;
    return target;
}

bool may_compute(const Gpu& gpu, const ComputingApi& computing) {
    const auto view = gpu.apis.find(std::string{computing.api});
    const auto backend = gpu.backends.find(std::string{computing.backend});
    if (view == gpu.apis.end() || view->second.outcome != Outcome::Answered ||
        backend == gpu.backends.end())
        return false;
    return backend->second.usable != false ||
           has_reason_with(backend->second.reasons, ReasonTraits::WorthATrial);
}

}  // namespace

std::vector<TrialTarget> trial_targets(const Report& report,
                                       const std::vector<ProbeTarget>& queries,
                                       const ProbeRequest& request) {
    std::vector<TrialTarget> targets;
    const auto add = [&](std::optional<ProbeTarget> target, const Gpu* gpu) {
        if (target)
            targets.push_back({.target = std::move(*target), .gpu = gpu});
    };
    for (const auto& gpu : report.gpus)
        for (const auto& computing : kComputing) {
            if (!is_among(request.gpus, gpu.id) || !is_among(request.apis, computing.api) ||
                !may_compute(gpu, computing))
                continue;
            const auto& view = gpu.apis.at(std::string{computing.api});
            add(target_for(queries, computing.api, view.driver, view.device, request.stage), &gpu);
        }
    if (!request.gpus.empty())
        return targets;
    for (const auto& software : report.software)
        if (computes(software.api) && is_among(request.apis, software.api))
            add(target_for(queries, software.api, software.driver, software.device, request.stage),
                nullptr);
    if (is_among(request.apis, kCpuApi))
        add(ProbeTarget{.api = std::string{kCpuApi}, .stage = request.stage, .device = kCpuDevice},
            nullptr);
    return targets;
}

bool computes(std::string_view api) {
    return api == kCpuApi ||
           std::ranges::find(kComputing, api, &ComputingApi::api) != kComputing.end();
}

}  // namespace gpuprobe
