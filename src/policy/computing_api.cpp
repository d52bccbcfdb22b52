// SPDX-License-Identifier: Apache-2.0
#include "policy/computing_api.h"

#include <algorithm>

namespace gpuprobe {
namespace {

std::optional<Api> api_called(std::string_view family) {
    for (const auto* api : computing_apis())
        if (family == api->word || family == api->backend)
            return api->id;
    return std::nullopt;
}

/// How the backend's last checked dispatch ended; null where nobody asked.
Value result_on(const Gpu* gpu, Api api) {
    if (!gpu)
        return {};
    const auto view = gpu->backends.find(std::string{info_of(api).backend});
    if (view == gpu->backends.end() || !view->second.verification)
        return {};
    return to_value(view->second.verification->result);
}

Reason not_verified(const GpuFacts& gpu, Value backend, Value result) {
    return because("not-verified", {{"where", gpu.id},
                                    {"predicate", "require-verified"},
                                    {"backend", std::move(backend)},
                                    {"result", std::move(result)}});
}

}  // namespace

std::optional<Api> api_of(const Predicate& predicate) {
    switch (predicate.kind) {
        case PredicateKind::Backend:
            return std::get<Api>(predicate.need);
        case PredicateKind::CudaDriver:
        case PredicateKind::CudaCode:
        case PredicateKind::CudaApi:
            return Api::Cuda;
        case PredicateKind::Gfx:
        case PredicateKind::Rocm:
            return Api::Hip;
        case PredicateKind::VulkanInstanceMin:
        case PredicateKind::VulkanApiMin:
        case PredicateKind::VulkanFeatures:
        case PredicateKind::VulkanExtensions:
            return Api::Vulkan;
        case PredicateKind::LevelZeroIp:
            return Api::LevelZero;
        default:
            return std::nullopt;
    }
}

std::vector<Api> computing_apis(const Variant& variant, const Conjunction& alternative) {
    std::vector<Api> apis;
    for (const auto& predicate : alternative)
        if (const auto api = api_of(predicate); api && std::ranges::find(apis, *api) == apis.end())
            apis.push_back(*api);
    if (const auto api = api_called(variant.family); apis.empty() && api)
        apis.push_back(*api);
    return apis;
}

bool is_verified(const std::vector<Api>& apis, const GpuFacts& gpu) {
    return !apis.empty() &&
           std::ranges::all_of(apis, [&gpu](Api api) { return gpu.verified.at(place_of(api)); });
}

std::vector<Reason> unverified(const Variant& variant, const GpuFacts& gpu, const Gpu* reported) {
    std::vector<Reason> reasons;
    const auto add = [&reasons](Reason reason) {
        if (std::ranges::find(reasons, reason) == reasons.end())
            reasons.push_back(std::move(reason));
    };
    for (const auto& alternative : variant.needs.devices) {
        const auto apis = computing_apis(variant, alternative);
        if (apis.empty())
            add(not_verified(gpu, {}, {}));
        for (const auto api : apis) {
            const auto place = place_of(api);
            if (!gpu.verified.at(place) && gpu.usable.at(place) != false)
                add(not_verified(gpu, Value{info_of(api).backend}, result_on(reported, api)));
        }
    }
    return reasons;
}

}  // namespace gpuprobe
