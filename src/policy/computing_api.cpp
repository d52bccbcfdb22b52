// SPDX-License-Identifier: Apache-2.0
#include "policy/computing_api.h"

#include <algorithm>

#include "report/gpu_views.h"

namespace gpuprobe::inline policy {
namespace {

/// The computing API that a family is named after, by its own word or its backend's.
std::optional<Api> api_called(std::string_view family) {
    for (const auto* api : computing_apis())
        if (family == api->word || family == api->backend)
            return api->id;
    return std::nullopt;
}

/// The result of the last checked dispatch on the backend; null if none was made.
Value result_on(const Gpu& gpu, Api api) {
    const auto view = gpu.backends.find(std::string{info_of(api).backend});
    if (view == gpu.backends.end() || !view->second.verification)
        return {};
    return to_value(view->second.verification->result);
}

/// `not-verified` for a backend and the result of its last dispatch; both may be null.
Reason not_verified(const Facts& gpu, Value backend, Value result) {
    return because("not-verified", {{"where", gpu.gpu()->id},
                                    {"predicate", "require-verified"},
                                    {"backend", std::move(backend)},
                                    {"result", std::move(result)}});
}

}  // namespace

std::vector<Api> apis_used(const Variant& variant, const Conjunction& alternative) {
    std::vector<Api> apis;
    for (const auto& term : alternative)
        // Keep the order of the terms, without duplicates.
        if (const auto api = api_of(term); api && std::ranges::find(apis, *api) == apis.end())
            apis.push_back(*api);
    if (const auto api = api_called(variant.family); apis.empty() && api)
        apis.push_back(*api);
    return apis;
}

std::vector<Reason> closed_nodes(const Variant& variant,
                                 const Conjunction& alternative,
                                 const Facts& gpu) {
    const auto apis = apis_used(variant, alternative);
    const auto works = [&gpu](Api api) { return gpu.usable(api) == true; };
    // One working API proves that the nodes are accessible.
    if (std::ranges::any_of(apis, works))
        return {};
    const auto backend = apis.empty() ? std::string_view{} : info_of(apis.front()).backend;
    auto reasons = shut_nodes(backend, gpu.report().nodes, *gpu.gpu());
    for (auto& reason : reasons) {
        reason.detail["where"] = gpu.gpu()->id;
        reason.detail["predicate"] = "backend";
    }
    return reasons;
}

bool is_verified(const std::vector<Api>& apis, const Facts& gpu) {
    return !apis.empty() &&
           std::ranges::all_of(apis, [&gpu](Api api) { return gpu.verified(api); });
}

std::vector<Reason> unverified(const Variant& variant,
                               const Conjunction& alternative,
                               const Facts& gpu) {
    std::vector<Reason> reasons;
    const auto apis = apis_used(variant, alternative);
    // Without a known API nothing can be verified.
    if (apis.empty())
        reasons.push_back(not_verified(gpu, {}, {}));
    for (const auto api : apis)
        // An unusable backend has its own reasons; an unknown one may still be verified.
        if (!gpu.verified(api) && gpu.usable(api) != false)
            reasons.push_back(
                not_verified(gpu, Value{info_of(api).backend}, result_on(*gpu.gpu(), api)));
    return reasons;
}

}  // namespace gpuprobe::inline policy
