// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "base/parse.h"
#include "knowledge/selectors.h"
#include "policy/environment.h"
#include "report/api_table.h"

namespace gpuprobe::inline policy {
namespace {

using knowledge::ListForm;

/// One GPU as one API shows it, and all that the caller has set.
struct CallerScene {
    const Gpu& gpu;
    const ApiView& view;
    const Report& report;
    const Variables& callers;
    std::string_view api = {};

    [[nodiscard]] Variables::const_iterator none() const { return callers.end(); }
    [[nodiscard]] bool has(const std::string& name) const {
        const auto found = callers.find(name);
        return found != none() && !found->second.empty();
    }
};

std::vector<std::string> items_of(std::string_view list, char separator) {
    std::vector<std::string> items;
    for (const auto piece : split(list, separator))
        if (const auto item = trimmed(piece); !item.empty())
            items.emplace_back(item);
    return items;
}

/// Whether an item is the GPU: by its position, or by the start of its UUID. nullopt for a position
/// where the GPU's own is not known.
std::optional<bool> is_meant(const std::string& item,
                             const std::string& uuid,
                             std::optional<std::uint64_t> place) {
    if (const auto number = parse_number<std::uint64_t>(item))
        return place ? std::optional{*number == *place} : std::nullopt;
    return !uuid.empty() && lower_case(uuid).starts_with(lower_case(item));
}

/// A list of positions and UUIDs, which ends with the first item that can be neither.
bool is_left_out(std::string_view list, const std::string& uuid, std::optional<std::uint64_t> at) {
    for (const auto& item : items_of(list, ',')) {
        const bool is_uuid = item.starts_with("GPU-") || item.starts_with("MIG-");
        if (!is_uuid && !parse_number<std::uint64_t>(item))
            return true;
        if (is_meant(item, uuid, at).value_or(true) || item.starts_with("MIG-"))
            return false;
    }
    return true;
}

std::optional<std::uint64_t> index_of(const ApiView& view) {
    return view.index ? std::optional<std::uint64_t>{*view.index} : std::nullopt;
}

/// Where the GPU stands among those of the API in order of PCI address.
std::optional<std::string> rank_of(const CallerScene& scene) {
    return selector_fact(std::string{scene.api} + "_pci_ranks",
                         {.report = scene.report, .gpus = {&scene.gpu}});
}

bool by_cuda(const std::string& value, const CallerScene& scene) {
    auto place = index_of(scene.view);
    const auto order = scene.callers.find("CUDA_DEVICE_ORDER");
    if (order != scene.none() && order->second == "PCI_BUS_ID") {
        const auto rank = rank_of(scene);
        place = rank ? parse_number<std::uint64_t>(*rank) : std::nullopt;
    }
    return is_left_out(value, scene.gpu.identity.nvidia_uuid.value_or(""), place);
}

std::string hip_uuid(const Gpu& gpu) {
    const auto id = gpu.identity.hip_unique_id.value_or("");
    return id.empty() || id.starts_with("GPU-") ? id : "GPU-" + id;
}

/// HIP counts what ROCr leaves over, so a position means nothing where both are set.
bool by_hip(const std::string& value, const CallerScene& scene) {
    if (value.empty())
        return false;
    const auto place = scene.has("ROCR_VISIBLE_DEVICES") ? std::nullopt : index_of(scene.view);
    return is_left_out(value, hip_uuid(scene.gpu), place);
}

bool by_rocr(const std::string& value, const CallerScene& scene) {
    return is_left_out(value, hip_uuid(scene.gpu), index_of(scene.view));
}

bool by_rank(const std::string& value, const CallerScene& scene) {
    const auto rank = rank_of(scene);
    if (value.empty() || !rank)
        return false;
    return std::ranges::none_of(items_of(value, ','), [&](const std::string& item) {
        return item.substr(0, item.find('.')) == *rank;
    });
}

/// "backend:devices;backend:devices"; a term with "!" only takes away.
bool by_backend(const std::string& value, const CallerScene& scene) {
    const auto keeps = [&scene](const std::string& term) {
        const auto colon = term.find(':');
        const auto backend = lower_case(term.substr(0, colon));
        const auto devices =
            colon == std::string::npos ? std::string{"*"} : lower_case(term.substr(colon + 1));
        return term.starts_with('!') ||
               ((backend == "*" || backend == scene.api) && devices != "cpu" && devices != "fpga");
    };
    return !value.empty() && std::ranges::none_of(items_of(value, ';'), keeps);
}

/// Which number is which GPU is another question; a list without numbers is no GPU.
bool by_ggml(const std::string& value, const CallerScene&) {
    const auto items = items_of(value, ',');
    return items.empty() || !parse_number<std::uint64_t>(items.front());
}

/// Paths of manifests, or of folders with some.
bool is_driver_left_out(const std::string& paths, const CallerScene& scene) {
    const auto& driver = scene.view.driver;
    if (paths.empty() || !driver || !driver->starts_with('/'))
        return false;
    return std::ranges::none_of(items_of(paths, ':'), [&driver](std::string path) {
        while (path.size() > 1 && path.ends_with('/'))
            path.pop_back();
        return *driver == path || driver->substr(0, driver->rfind('/')) == path;
    });
}

/// Loaders that know VK_DRIVER_FILES do not look at it.
bool by_icd_filenames(const std::string& value, const CallerScene& scene) {
    return !scene.has("VK_DRIVER_FILES") && is_driver_left_out(value, scene);
}

/// "*name*", "name*", "*name" or "name", without regard to case, as the Vulkan loader takes them.
bool is_glob_match(std::string glob, std::string_view name) {
    const bool is_open_in_front = glob.starts_with('*');
    if (is_open_in_front)
        glob.erase(0, 1);
    const bool is_open_behind = glob.ends_with('*');
    if (is_open_behind)
        glob.pop_back();
    const auto found = is_open_in_front && !is_open_behind && name.size() >= glob.size()
                           ? name.size() - glob.size()
                           : std::size_t{0};
    if (is_open_in_front && is_open_behind)
        return name.find(glob) != std::string_view::npos;
    const auto rest = name.substr(found);
    return is_open_behind ? rest.starts_with(glob) : rest == glob;
}

bool is_among(const std::string& globs, const CallerScene& scene) {
    const auto path = lower_case(scene.view.driver.value_or(""));
    const auto name = path.substr(path.rfind('/') + 1);
    return std::ranges::any_of(items_of(lower_case(globs), ','), [&name](const std::string& glob) {
        return is_glob_match(glob, name);
    });
}

bool by_loader_disable(const std::string& value, const CallerScene& scene) {
    return scene.view.driver && is_among(value, scene);
}

bool by_loader_select(const std::string& value, const CallerScene& scene) {
    return scene.view.driver && !value.empty() && !is_among(value, scene);
}

/// "vendor:device!" shows that device alone.
bool by_mesa(const std::string& value, const CallerScene& scene) {
    const auto& pci = scene.gpu.pci;
    if (!value.ends_with('!') || !pci || !pci->vendor_id || !pci->device_id)
        return false;
    return lower_case(value) != lower_case(*pci->vendor_id + ":" + *pci->device_id + "!");
}

struct Hiding {
    ListForm form = ListForm::CudaIds;
    bool (*hides)(const std::string& value, const CallerScene& scene) = nullptr;
};
constexpr std::array kHidings = std::to_array<Hiding>({
    {ListForm::CudaIds, by_cuda},
    {ListForm::HipIds, by_hip},
    {ListForm::RocrIds, by_rocr},
    {ListForm::PciRanks, by_rank},
    {ListForm::Backends, by_backend},
    {ListForm::Numbers, by_ggml},
    {ListForm::Manifests, is_driver_left_out},
    {ListForm::OlderManifests, by_icd_filenames},
    {ListForm::DriversOff, by_loader_disable},
    {ListForm::DriversOn, by_loader_select},
    {ListForm::PciIds, by_mesa},
});
static_assert(kHidings.size() == names_of(ListForm{}).size());
static_assert(std::ranges::all_of(kHidings, [](const Hiding& row) {
    return &row == &kHidings[static_cast<std::size_t>(row.form)];
}));

/// The loader's lists are read wherever the loader is.
bool is_read(std::string_view variable, const Reach& reach) {
    return reach.variables.contains(variable) ||
           (variable.starts_with("VK_LOADER_") && reach.variables.contains("VK_DRIVER_FILES"));
}

}  // namespace

std::vector<std::string_view> hiding_variables() {
    std::vector<std::string_view> names{"CUDA_DEVICE_ORDER"};
    for (const auto& reader : knowledge::Selectors::current().readers())
        for (const auto& [variable, form] : reader.lists)
            names.push_back(variable);
    return names;
}

std::vector<Reason> hidden_by(const Variables& callers,
                              const Reach& reach,
                              std::string_view backend,
                              const Gpu& gpu,
                              const Report& report,
                              const Variables& answer) {
    std::vector<Reason> reasons;
    const auto api = api_below(backend);
    const auto view = gpu.apis.find(std::string{api});
    if (view == gpu.apis.end())
        return reasons;
    const CallerScene scene{gpu, view->second, report, callers, api};
    for (const auto& reader : knowledge::Selectors::current().readers()) {
        if (reader.api != api)
            continue;
        for (const auto& [variable, form] : reader.lists) {
            const auto set = callers.find(variable);
            if (set == callers.end() || !is_read(variable, reach) ||
                !kHidings[static_cast<std::size_t>(form)].hides(set->second, scene))
                continue;
            reasons.push_back(
                because("hidden-by-environment", {{"gpu", gpu.id},
                                                  {"variable", set->first},
                                                  {"value", scrubbed(set->second, 256)},
                                                  {"replaced", answer.contains(set->first)}}));
        }
    }
    return reasons;
}

}  // namespace gpuprobe::inline policy
