// SPDX-License-Identifier: Apache-2.0
#include "policy/computing_api.h"

#include <algorithm>

namespace gpuprobe {
namespace {

std::optional<VariantApi> api_of(const Predicate& predicate) {
    switch (predicate.kind) {
        case PredicateKind::Backend:
            return std::get<VariantApi>(predicate.need);
        case PredicateKind::CudaDriver:
        case PredicateKind::CudaCode:
        case PredicateKind::CudaApi:
            return VariantApi::Cuda;
        case PredicateKind::Gfx:
        case PredicateKind::Rocm:
            return VariantApi::Hip;
        case PredicateKind::VulkanInstanceMin:
        case PredicateKind::VulkanApiMin:
        case PredicateKind::VulkanFeatures:
        case PredicateKind::VulkanExtensions:
            return VariantApi::Vulkan;
        case PredicateKind::LevelZeroIp:
            return VariantApi::LevelZero;
        default:
            return std::nullopt;
    }
}

std::optional<VariantApi> api_called(std::string_view family) {
    for (const auto& api : names_of(VariantApi{}))
        if (family == api.name || family == backend_of(api.value))
            return api.value;
    return std::nullopt;
}

/// How the backend's last checked dispatch ended; null where nobody asked.
Value result_on(const Gpu* gpu, VariantApi api) {
    if (!gpu)
        return {};
    const auto view = gpu->backends.find(std::string{backend_of(api)});
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

std::vector<VariantApi> computing_apis(const Variant& variant, const Conjunction& alternative) {
    std::vector<VariantApi> apis;
    for (const auto& predicate : alternative)
        if (const auto api = api_of(predicate); api && std::ranges::find(apis, *api) == apis.end())
            apis.push_back(*api);
    if (const auto api = api_called(variant.family); apis.empty() && api)
        apis.push_back(*api);
    return apis;
}

bool is_verified(const std::vector<VariantApi>& apis, const GpuFacts& gpu) {
    return !apis.empty() && std::ranges::all_of(apis, [&gpu](VariantApi api) {
        return gpu.verified.at(static_cast<std::size_t>(api));
    });
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
            const auto place = static_cast<std::size_t>(api);
            if (!gpu.verified.at(place) && gpu.usable.at(place) != false)
                add(not_verified(gpu, Value{backend_of(api)}, result_on(reported, api)));
        }
    }
    return reasons;
}

}  // namespace gpuprobe
