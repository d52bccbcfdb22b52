// SPDX-License-Identifier: Apache-2.0
#include "plan/runtime_order.h"

#include <algorithm>

#include "plan/backend_traits.h"
#include "report/api_table.h"
#include "report/fact_key.h"

namespace gpuprobe::inline plan {
namespace {

/// Null where the API gives the GPU no position.
const ApiView* view_of(const Gpu& gpu, std::string_view api) {
    const auto found = gpu.apis.find(std::string{api});
    return found != gpu.apis.end() && found->second.index ? &found->second : nullptr;
}

/// Whether one driver has them all.
bool are_of_one_list(const std::vector<const Gpu*>& gpus, std::string_view api) {
    const auto* first = gpus.empty() ? nullptr : view_of(*gpus.front(), api);
    return first && std::ranges::all_of(gpus, [&](const Gpu* gpu) {
               const auto* view = view_of(*gpu, api);
               return view && view->driver == first->driver;
           });
}

/// The fact is known of a device that Level Zero has told of.
std::uint64_t units_of(const Gpu* gpu, std::string_view api) {
    return fact(view_of(*gpu, api)->device, facts::kExecutionUnits).value_or(0);
}

}  // namespace

std::vector<const Gpu*> in_runtime_order(std::string_view backend, std::vector<const Gpu*> gpus) {
    const auto* api = find_api_of_backend(backend);
    if (!api || !are_of_one_list(gpus, api->word))
        return gpus;
    if (!backend_traits(backend).lists_by_units) {
        std::ranges::stable_sort(gpus, {},
                                 [&](const Gpu* gpu) { return *view_of(*gpu, api->word)->index; });
        return gpus;
    }
    std::ranges::stable_sort(
        gpus, {}, [](const Gpu* gpu) { return gpu->pci ? gpu->pci->address : std::nullopt; });
    std::ranges::stable_sort(gpus.begin() + 1, gpus.end(), std::ranges::greater{},
                             [&](const Gpu* gpu) { return units_of(gpu, api->word); });
    return gpus;
}

}  // namespace gpuprobe::inline plan
