// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "base/text.h"
#include "knowledge/library.h"
#include "knowledge/selectors.h"
#include "policy/environment.h"
#include "report/api_table.h"

namespace gpuprobe::inline policy {
namespace {

using knowledge::ListForm;

/// The input for the checks below, which consists of a GPU as an API reports it, the caller's
/// variables, and gpuprobe's answer.
struct CallerScene {
    const Gpu& gpu;
    const ApiView& view;
    const Selection& selection;
    const Variables& callers;
    const Variables& answer;
    std::string_view api = {};

    /// The iterator whose meaning is that the variable isn't set.
    [[nodiscard]] Variables::const_iterator none() const { return callers.end(); }
    /// Whether the caller has set the variable to a non-empty value.
    [[nodiscard]] bool has(const std::string& name) const {
        const auto found = callers.find(name);
        return found != none() && !found->second.empty();
    }
};

/// The items of a list that aren't empty, without surrounding white space.
std::vector<std::string> items_of(std::string_view list, char separator) {
    std::vector<std::string> items;
    for (const auto piece : split(list, separator))
        if (const auto item = trimmed(piece); !item.empty())
            items.emplace_back(item);
    return items;
}

/// Whether an item of the list selects the GPU, by an index or by the start of its UUID; nullopt
/// for an index if the GPU's own index is unknown.
std::optional<bool> is_meant(const std::string& item,
                             const std::string& uuid,
                             std::optional<std::uint64_t> place) {
    if (const auto number = parse_number<std::uint64_t>(item))
        return place ? std::optional{*number == *place} : std::nullopt;
    return !uuid.empty() && lower_case(uuid).starts_with(lower_case(item));
}

/// Whether a list of indices and UUIDs leaves out the GPU. The list ends at the first invalid item.
bool is_left_out(std::string_view list, const std::string& uuid, std::optional<std::uint64_t> at) {
    for (const auto& item : items_of(list, ',')) {
        const bool is_uuid = item.starts_with("GPU-") || item.starts_with("MIG-");
        if (!is_uuid && !parse_number<std::uint64_t>(item))
            return true;
        // An unknown index or a MIG item may select this GPU, so don't report the GPU as hidden.
        if (is_meant(item, uuid, at).value_or(true) || item.starts_with("MIG-"))
            return false;
    }
    return true;
}

std::optional<std::uint64_t> index_of(const ApiView& view) {
    return view.index ? std::optional<std::uint64_t>{*view.index} : std::nullopt;
}

/// The position of the GPU among the GPUs of the API, sorted by PCI address.
std::optional<std::string> rank_of(const CallerScene& scene) {
    return selector_fact(std::string{scene.api} + "_pci_ranks",
                         {.report = scene.selection.report, .gpus = {&scene.gpu}});
}

/// The number of GPUs from this vendor that the API reports, and whether they all have the same
/// kind.
struct Ranked {
    std::uint64_t count = 0;
    bool is_of_one_kind = true;
};

Ranked ranked_in(const CallerScene& scene) {
    Ranked ranked;
    for (const auto& gpu : scene.selection.report.gpus) {
        if (gpu.vendor != scene.gpu.vendor || !gpu.apis.contains(std::string{scene.api}))
            continue;
        ++ranked.count;
        ranked.is_of_one_kind = ranked.is_of_one_kind && gpu.kind == scene.gpu.kind;
    }
    return ranked;
}

/// Whether CUDA_VISIBLE_DEVICES, whose indices depend on CUDA_DEVICE_ORDER, hides the GPU.
bool by_cuda(const std::string& value, const CallerScene& scene) {
    auto place = index_of(scene.view);
    const auto order = scene.callers.find("CUDA_DEVICE_ORDER");
    if (order != scene.none() && order->second == "PCI_BUS_ID") {
        const auto rank = rank_of(scene);
        place = rank ? parse_number<std::uint64_t>(*rank) : std::nullopt;
    }
    return is_left_out(value, scene.gpu.identity.nvidia_uuid.value_or(""), place);
}

/// The id of the GPU in ROCm's notation, which is "GPU-" and 16 digits.
std::string hip_uuid(const Gpu& gpu) {
    const auto id = gpu.identity.hip_unique_id.value_or("");
    return id.empty() || id.starts_with("GPU-") ? id : "GPU-" + id;
}

/// HIP_VISIBLE_DEVICES: HIP numbers the devices that ROCr leaves visible, so indices have no fixed
/// meaning if ROCR_VISIBLE_DEVICES is also set.
bool by_hip(const std::string& value, const CallerScene& scene) {
    if (value.empty())
        return false;
    const auto place = scene.has("ROCR_VISIBLE_DEVICES") ? std::nullopt : index_of(scene.view);
    return is_left_out(value, hip_uuid(scene.gpu), place);
}

/// ROCR_VISIBLE_DEVICES.
bool by_rocr(const std::string& value, const CallerScene& scene) {
    return is_left_out(value, hip_uuid(scene.gpu), index_of(scene.view));
}

/// ZE_AFFINITY_MASK. Without ZE_ENABLE_PCI_ID_DEVICE_ORDER, the driver numbers discrete and
/// integrated GPUs in an order of its choice, so an index could mean either kind.
bool by_rank(const std::string& value, const CallerScene& scene) {
    const auto rank = rank_of(scene);
    if (value.empty() || !rank)
        return false;
    const auto order = scene.callers.find("ZE_ENABLE_PCI_ID_DEVICE_ORDER");
    const auto ranked = ranked_in(scene);
    const bool is_in_pci_order =
        ranked.is_of_one_kind || (order != scene.none() && order->second == "1");
    return std::ranges::none_of(items_of(value, ','), [&](const std::string& item) {
        // An item such as "0.1" selects a sub-device of device 0.
        const auto place = item.substr(0, item.find('.'));
        const auto number = parse_number<std::uint64_t>(place);
        // If the order is unknown, any valid index may mean this GPU.
        return is_in_pci_order ? place == *rank : number && *number < ranked.count;
    });
}

/// ONEAPI_DEVICE_SELECTOR: The value has the form "backend:devices;backend:devices"; a term with
/// "!" only excludes devices.
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

constexpr const char* kForceDefault = "MESA_VK_DEVICE_SELECT_FORCE_DEFAULT_DEVICE";

/// Whether Mesa's device-select layer shows only the device that `value` names, if these variables
/// are set. If Mesa's version is unknown, both a `!` at the end and kForceDefault are assumed to
/// work. Source: Mesa 09e4fd1d84b0 (22.2) and af27ecb08990 (23.3), device_select_layer.c.
bool shows_only_named(const std::string& value,
                      const Variables& variables,
                      const CallerScene& scene) {
    if (lacks_device_select(scene.selection.report))
        return false;
    const auto mesa = mesa_version(scene.gpu);
    const auto force = variables.find(kForceDefault);
    const bool is_forced = force != variables.end() && force->second == "1";
    return (value.ends_with('!') && (!mesa || *mesa >= Version{{23, 3}})) ||
           (is_forced && !value.empty() && (!mesa || *mesa >= Version{{22, 2}}));
}

/// Whether the answer hides all GPUs except the selected GPUs, which are then numbered from 0.
bool leaves_only_selected(const CallerScene& scene) {
    const auto value_in_answer = [&scene](const char* name) {
        const auto found = scene.answer.find(name);
        return found == scene.answer.end() ? std::string{} : found->second;
    };
    const auto files = value_in_answer("VK_DRIVER_FILES");
    return shows_only_named(value_in_answer("MESA_VK_DEVICE_SELECT"), scene.answer, scene) ||
           shows_only_named(value_in_answer("DRI_PRIME"), scene.answer, scene) ||
           (!files.empty() && files == selector_fact("vulkan_own_manifest", scene.selection));
}

/// Whether GGML_VK_VISIBLE_DEVICES hides the GPU; a list without numbers selects no GPU. It is not
/// known here which GPU an index means, but ggml aborts if an index is too high for the devices
/// that the answer leaves visible.
bool by_ggml(const std::string& value, const CallerScene& scene) {
    const auto items = items_of(value, ',');
    if (items.empty() || !parse_number<std::uint64_t>(items.front()))
        return true;
    // Either the answer replaces the caller's list, or the number of visible devices is unknown.
    if (scene.answer.contains("GGML_VK_VISIBLE_DEVICES") || !leaves_only_selected(scene))
        return false;
    return std::ranges::any_of(items, [&scene](const std::string& item) {
        return parse_number<std::uint64_t>(item).value_or(0) >= scene.selection.gpus.size();
    });
}

/// Whether the paths in VK_DRIVER_FILES or OCL_ICD_VENDORS (manifests or their folders) leave out
/// the GPU's driver.
bool is_driver_left_out(const std::string& paths, const CallerScene& scene) {
    const auto& driver = scene.view.driver;
    const auto loader =
        scene.api == "opencl" ? opencl_loader(scene.selection.report) : std::nullopt;
    // Khronos's OpenCL loader opens OCL_ICD_VENDORS as a folder, even if the variable is empty.
    const bool is_folder = loader && *loader != kOclIcd;
    if ((paths.empty() && !is_folder) || !driver || !driver->starts_with('/'))
        return false;
    return std::ranges::none_of(items_of(paths, ':'), [&driver, is_folder](std::string path) {
        // Slashes at the end of a path do not matter.
        while (path.size() > 1 && path.ends_with('/'))
            path.pop_back();
        return (*driver == path && !is_folder) || driver->substr(0, driver->rfind('/')) == path;
    });
}

/// Whether VK_ICD_FILENAMES, which Vulkan loaders ignore if VK_DRIVER_FILES is set, hides the GPU.
bool by_icd_filenames(const std::string& value, const CallerScene& scene) {
    return !scene.has("VK_DRIVER_FILES") && is_driver_left_out(value, scene);
}

/// Matches patterns such as "*name*", "name*", "*name" and "name" in the same way as the Vulkan
/// loader, which ignores case.
bool is_glob_match(std::string glob, std::string_view name) {
    const bool is_open_in_front = glob.starts_with('*');
    if (is_open_in_front)
        glob.erase(0, 1);
    const bool is_open_behind = glob.ends_with('*');
    if (is_open_behind)
        glob.pop_back();
    // For a pattern such as "*name", the end of the name is compared.
    const auto found = is_open_in_front && !is_open_behind && name.size() >= glob.size()
                           ? name.size() - glob.size()
                           : std::size_t{0};
    if (is_open_in_front && is_open_behind)
        return name.find(glob) != std::string_view::npos;
    const auto rest = name.substr(found);
    return is_open_behind ? rest.starts_with(glob) : rest == glob;
}

/// Whether one of the patterns matches the name of the driver manifest that the GPU uses.
bool is_among(const std::string& globs, const CallerScene& scene) {
    const auto path = lower_case(scene.view.driver.value_or(""));
    const auto name = path.substr(path.rfind('/') + 1);
    return std::ranges::any_of(items_of(lower_case(globs), ','), [&name](const std::string& glob) {
        return is_glob_match(glob, name);
    });
}

/// Whether VK_LOADER_DRIVERS_DISABLE, which hides the drivers that match, hides the GPU.
bool by_loader_disable(const std::string& value, const CallerScene& scene) {
    return scene.view.driver && is_among(value, scene);
}

/// Whether VK_LOADER_DRIVERS_SELECT, which hides the drivers that don't match, hides the GPU.
bool by_loader_select(const std::string& value, const CallerScene& scene) {
    return scene.view.driver && !value.empty() && !is_among(value, scene);
}

/// The name of a device in the values of Mesa's variables, without the "!".
std::string mesa_name(const std::string& value) {
    return lower_case(value.ends_with('!') ? value.substr(0, value.size() - 1) : value);
}

/// MESA_VK_DEVICE_SELECT: A name such as "vendor:device" can show only the named device.
bool by_mesa(const std::string& value, const CallerScene& scene) {
    const auto& pci = scene.gpu.pci;
    if (!shows_only_named(value, scene.callers, scene) || !pci || !pci->vendor_id ||
        !pci->device_id)
        return false;
    return mesa_name(value) != lower_case(*pci->vendor_id + ":" + *pci->device_id);
}

/// Whether DRI_PRIME hides the GPU, because the value selects another GPU that the API reports.
bool by_prime(const std::string& value, const CallerScene& scene) {
    if (!shows_only_named(value, scene.callers, scene))
        return false;
    const auto is_named = [&](const Gpu& gpu) {
        const auto& pci = gpu.pci;
        if (!pci)
            return false;
        // The value has the form "pci-0000_03_00_0!" or "vendor:device!".
        auto tag = "pci-" + (pci->address ? text_of(*pci->address) : std::string{});
        std::ranges::replace(tag, ':', '_');
        std::ranges::replace(tag, '.', '_');
        const auto name = mesa_name(value);
        return name == tag ||
               name == pci->vendor_id.value_or("") + ":" + pci->device_id.value_or("");
    };
    const auto is_there = [&](const Gpu& gpu) {
        return gpu.apis.contains(std::string{scene.api}) && is_named(gpu);
    };
    return !is_named(scene.gpu) && std::ranges::any_of(scene.selection.report.gpus, is_there);
}

/// A number such as "0x744c" or "29772", as strtoul reads it with base 0; nullopt for anything
/// else.
std::optional<std::uint64_t> c_number(std::string_view text) {
    return text.starts_with("0x") ? parse_hex<std::uint64_t>(text.substr(2))
                                  : parse_number<std::uint64_t>(text);
}

/// Whether VK_LOADER_DEVICE_ID_FILTER, which shows only devices with certain PCI device ids, hides
/// the GPU.
bool by_device_ids(const std::string& value, const CallerScene& scene) {
    const auto items = items_of(lower_case(value), ',');
    const auto& pci = scene.gpu.pci;
    const auto own =
        pci && pci->device_id ? parse_hex<std::uint64_t>(*pci->device_id) : std::nullopt;
    return own && !items.empty() && std::ranges::none_of(items, [&own](const std::string& item) {
               const auto ends = split(item, ':');
               const auto first = c_number(ends.front());
               const auto last = c_number(ends.back());
               // If gpuprobe cannot parse a filter, the filter may show this GPU.
               return !first || !last || (*first <= *own && *own <= *last);
           });
}

/// A format of variables, and the function that determines whether a value in this format hides a
/// GPU.
struct Hiding {
    ListForm form = ListForm::CudaIds;
    bool (*hides)(const std::string& value, const CallerScene& scene) = nullptr;
    /// Other variables that disable this variable if they are set.
    std::string_view overruled_by = {};
};
constexpr std::array kHidings = std::to_array<Hiding>({
    {ListForm::CudaIds, by_cuda},
    {ListForm::HipIds, by_hip},
    {ListForm::RocrIds, by_rocr},
    {ListForm::PciRanks, by_rank},
    {ListForm::Backends, by_backend},
    {ListForm::Numbers, by_ggml},
    {ListForm::Manifests, is_driver_left_out},
    {ListForm::OlderManifests, by_icd_filenames, "VK_DRIVER_FILES"},
    {ListForm::DriversOff, by_loader_disable},
    {ListForm::DriversOn, by_loader_select},
    {ListForm::PciIds, by_mesa, "NODEVICE_SELECT"},
    {ListForm::PrimeIds, by_prime, "NODEVICE_SELECT MESA_VK_DEVICE_SELECT"},
    {ListForm::DeviceIds, by_device_ids},
});
static_assert(kHidings.size() == names_of(ListForm{}).size());
static_assert(std::ranges::all_of(kHidings, [](const Hiding& row) {
    return &row == &kHidings[static_cast<std::size_t>(row.form)];
}));

/// Whether the answer either sets the variable or disables it.
bool is_replaced(const std::string& variable, const Hiding& row, const Variables& answer) {
    return answer.contains(variable) ||
           std::ranges::any_of(split(row.overruled_by, ' '), [&answer](std::string_view other) {
               return answer.contains(std::string{other});
           });
}

/// Whether the application reads the variable. All Vulkan loaders read the lists in the VK_LOADER_…
/// variables.
bool is_read(std::string_view variable, const Access& access) {
    return access.variables.contains(variable) ||
           (variable.starts_with("VK_LOADER_") && access.variables.contains("VK_DRIVER_FILES"));
}

}  // namespace

void hide_additions(const Access& access, const Variables& callers, Variables& environment) {
    for (const auto* reader : access.readers) {
        const bool is_hidden =
            !reader->hide.empty() && std::ranges::all_of(reader->hide, [&](const auto& entry) {
                const auto set = environment.find(entry.first);
                return set != environment.end() && set->second == entry.second;
            });
        for (const auto& [variable, value] : reader->hide_if_set)
            if (const auto set = callers.find(variable);
                is_hidden && set != callers.end() && !set->second.empty())
                environment.emplace(variable, value);
    }
}

Variables hiding_variables(const char* const* environment) {
    std::unordered_map<std::string_view, std::string_view> all;
    for (; *environment; ++environment) {
        const std::string_view entry{*environment};
        // Programs do not find an entry without "=" (getenv(3)).
        if (const auto end = entry.find('='); end != std::string_view::npos)
            all.emplace(entry.substr(0, end), entry.substr(end + 1));
    }
    Variables found;
    const auto add = [&](std::string_view name) {
        if (const auto own = all.find(name); own != all.end())
            found.emplace(name, own->second);
    };
    // CUDA_DEVICE_ORDER does not hide GPUs, but it changes the meaning of the indices in
    // CUDA_VISIBLE_DEVICES.
    add("CUDA_DEVICE_ORDER");
    // Most processes have none of these variables, and searching the data file is much faster than
    // parsing it. Only the built-in file is certain to be valid, and so to be the file in use.
    const auto* file = knowledge::Library::current()->find("selectors");
    const bool is_builtin = file && file->path.empty();
    if (is_builtin && std::ranges::none_of(split(file->json, '"'), [&all](std::string_view word) {
            return all.contains(word);
        }))
        return found;
    for (const auto& reader : knowledge::Selectors::current().readers()) {
        for (const auto& [variable, form] : reader.lists)
            add(variable);
        for (const auto& [variable, value] : reader.hide_if_set)
            add(variable);
    }
    return found;
}

std::vector<Reason> hidden_by(const Variables& callers,
                              const Access& access,
                              std::string_view backend,
                              const Gpu& gpu,
                              const Selection& selection,
                              const Variables& answer) {
    std::vector<Reason> reasons;
    const auto api = api_below(backend);
    const auto view = gpu.apis.find(std::string{api});
    if (view == gpu.apis.end())
        return reasons;
    const CallerScene scene{gpu, view->second, selection, callers, answer, api};
    for (const auto& reader : knowledge::Selectors::current().readers()) {
        if (reader.api != api)
            continue;
        for (const auto& [variable, form] : reader.lists) {
            // Report a variable only if the caller has set it, if the application reads it, and if
            // it hides the GPU.
            const auto set = callers.find(variable);
            const auto& row = kHidings[static_cast<std::size_t>(form)];
            if (set == callers.end() || !is_read(variable, access) ||
                !row.hides(set->second, scene))
                continue;
            reasons.push_back(because("hidden-by-environment",
                                      {{"gpu", gpu.id},
                                       {"variable", set->first},
                                       {"value", scrubbed(set->second, 256)},
                                       {"replaced", is_replaced(variable, row, answer)}}));
        }
    }
    return reasons;
}

namespace {

/// Whether programs use the GPU through the API, or could use it if the API's driver worked.
bool may_use(std::string_view api, const Gpu& gpu) {
    const auto* own = own_api_of(gpu.vendor.value_or(""));
    if (own && own->word == api)
        return gpu.kind != GpuKind::DisplayOnly;
    const auto view = gpu.apis.find(std::string{api});
    return view != gpu.apis.end() && view->second.outcome == Outcome::Answered &&
           !view->second.device.is_null();
}

/// The GPU as the API reports it. If the index is unknown, but the API can use no other GPU, the
/// index is 0.
ApiView view_in(const std::string& api, const Gpu& gpu, const Report& report) {
    const auto found = gpu.apis.find(api);
    auto view = found == gpu.apis.end() ? ApiView{} : found->second;
    const bool is_only = std::ranges::none_of(
        report.gpus, [&](const Gpu& other) { return other.id != gpu.id && may_use(api, other); });
    if (!view.index && is_only)
        view.index = 0;
    return view;
}

/// Whether programs can still use the GPU through the API of its vendor.
bool leaves_own_api(const std::vector<HidingVariable>& hidden, const Gpu& gpu) {
    const auto* own = own_api_of(gpu.vendor.value_or(""));
    const auto backend = own ? gpu.backends.find(std::string{own->backend}) : gpu.backends.end();
    return backend != gpu.backends.end() && backend->second.usable == true &&
           std::ranges::find(hidden, own->word, &HidingVariable::api) == hidden.end();
}

}  // namespace

std::vector<HidingVariable> hiding(const Variables& callers, const Gpu& gpu, const Report& report) {
    std::vector<HidingVariable> found;
    if (callers.empty())
        return found;
    const Selection selection{.report = report};
    const Variables no_answer;
    for (const auto& reader : knowledge::Selectors::current().readers()) {
        if (!may_use(reader.api, gpu))
            continue;
        const auto view = view_in(reader.api, gpu, report);
        const CallerScene scene{gpu, view, selection, callers, no_answer, reader.api};
        for (const auto& [variable, form] : reader.lists) {
            const auto set = callers.find(variable);
            const auto& row = kHidings[static_cast<std::size_t>(form)];
            if (set != callers.end() && row.hides(set->second, scene))
                found.push_back({.variable = variable, .value = set->second, .api = reader.api});
        }
    }
    const bool leaves_own = leaves_own_api(found, gpu);
    for (auto& one : found)
        one.leaves_own_api = leaves_own;
    return found;
}

}  // namespace gpuprobe::inline policy
