// SPDX-License-Identifier: Apache-2.0
#include "policy/selector_facts.h"

#include <algorithm>
#include <array>

#include "base/parse.h"
#include "report/api_view.h"
#include "report/compute_view.h"

namespace gpuprobe::inline policy {
namespace {

using Text = std::optional<std::string>;

constexpr std::size_t kMaxFact = 1024;
constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF";

/// The view of an API that has this GPU; null when it does not, or when the join is a guess.
const ApiView* certain_view_of(const Gpu& gpu, std::string_view api) {
    const auto found = gpu.apis.find(std::string{api});
    if (found == gpu.apis.end())
        return nullptr;
    const auto& view = found->second;
    const bool is_certain = view.outcome == Outcome::Answered && view.joined_by != "weak";
    return is_certain && view.device.is_object() ? &view : nullptr;
}

/// `one(gpu)` for each GPU, joined; nullopt when one of them has none, or a list would not hold it.
template <class One>
Text each(const Selection& selection, char separator, One one) {
    std::vector<std::string> texts;
    for (const auto* gpu : selection.gpus) {
        const Text text = one(*gpu);
        if (!text || text->empty() || text->find(separator) != std::string::npos)
            return std::nullopt;
        if (std::ranges::find(texts, *text) == texts.end())
            texts.push_back(*text);
    }
    std::string list;
    for (const auto& text : texts)
        list += (list.empty() ? std::string{} : std::string{separator}) + text;
    return list.empty() || list.size() > kMaxFact ? std::nullopt : Text{std::move(list)};
}

/// As each(), and no two GPUs share one.
template <class One>
Text each_its_own(const Selection& selection, One one) {
    auto list = each(selection, ',', one);
    if (!list || split(*list, ',').size() != selection.gpus.size())
        return std::nullopt;
    return list;
}

bool is_hexadecimal(std::string_view text) {
    return !text.empty() && text.find_first_not_of(kHexadecimal) == std::string_view::npos;
}

/// Without the prefix, the value would be taken for a position; a masked one names nothing.
/// Source: CUDA C++ Programming Guide, CUDA environment variables.
Text nvidia_uuid(const Gpu& gpu) {
    const auto& uuid = gpu.identity.nvidia_uuid;
    if (!uuid || !(uuid->starts_with("GPU-") || uuid->starts_with("MIG-")))
        return std::nullopt;
    // Of an instance, drivers before 470 name the GPU and the instance's numbers behind it.
    std::string digits = uuid->substr(4, uuid->find('/') - 4);
    if (digits.starts_with("GPU-"))
        digits.erase(0, 4);
    std::erase(digits, '-');
    const bool is_real =
        is_hexadecimal(digits) && digits.find_first_not_of('0') != std::string::npos;
    return is_real ? uuid : std::nullopt;
}

Text nvidia_uuids(const Selection& selection) {
    return each_its_own(selection, nvidia_uuid);
}

/// 16 hexadecimal digits; devices without an id all say "GPU-XX".
/// Source: ROCr, HSA_AMD_AGENT_INFO_UUID in hsa_ext_amd.h.
Text hip_id(const Gpu& gpu) {
    std::string id = gpu.identity.hip_unique_id.value_or("");
    if (id.starts_with("GPU-"))
        id.erase(0, 4);
    const bool is_real =
        id.size() == 16 && is_hexadecimal(id) && id.find_first_not_of('0') != std::string::npos;
    return is_real ? Text{"GPU-" + lower_case(id)} : std::nullopt;
}

Text hip_ids(const Selection& selection) {
    return each_its_own(selection, hip_id);
}

Text index_in(const Gpu& gpu, std::string_view api) {
    const auto* view = certain_view_of(gpu, api);
    return view && view->index ? Text{std::to_string(*view->index)} : std::nullopt;
}

/// ROCm counts in the order of KFD's nodes. Only of units, which nothing else may name, and where
/// nobody has asked ROCm itself. Source: ROCR-Runtime, BuildTopology in amd_topology.cpp.
Text kfd_rank(const Gpu& gpu, const Report& report) {
    if (!unit_of(gpu) || !gpu.identity.kfd_node || was_asked(gpu, "hip"))
        return std::nullopt;
    return std::to_string(std::ranges::count_if(report.gpus, [&gpu](const Gpu& other) {
        return other.identity.kfd_node && *other.identity.kfd_node < *gpu.identity.kfd_node;
    }));
}

Text hip_indices(const Selection& selection) {
    return each_its_own(selection, [&selection](const Gpu& gpu) {
        const auto index = index_in(gpu, "hip");
        return index ? index : kfd_rank(gpu, selection.report);
    });
}

Text ordinals(const Selection& selection) {
    std::size_t next = 0;
    return each(selection, ',', [&next](const Gpu&) { return std::to_string(next++); });
}

/// The GPUs that the API enumerates, in order of PCI address; empty when that is not certain: one
/// of the vendor did not answer, has no address, or is divided.
std::vector<const Gpu*> in_pci_order(const Report& report,
                                     std::string_view api,
                                     std::string_view vendor) {
    std::vector<const Gpu*> gpus;
    for (const auto& gpu : report.gpus) {
        if (gpu.kind == GpuKind::DisplayOnly || gpu.vendor != vendor)
            continue;
        if (!certain_view_of(gpu, api) || is_divided(gpu))
            return {};
        gpus.push_back(&gpu);
    }
    const auto has_address = [](const Gpu* gpu) { return gpu->pci && gpu->pci->address; };
    if (gpus.size() > 1 && !std::ranges::all_of(gpus, has_address))
        return {};
    if (gpus.size() > 1)
        std::ranges::sort(gpus, {}, [](const Gpu* gpu) { return *gpu->pci->address; });
    return gpus;
}

Text pci_ranks(const Selection& selection, std::string_view api, std::string_view vendor) {
    const auto order = in_pci_order(selection.report, api, vendor);
    return each_its_own(selection, [&order](const Gpu& gpu) -> Text {
        const auto found = std::ranges::find(order, &gpu);
        return found == order.end() ? Text{} : Text{std::to_string(found - order.begin())};
    });
}

/// Nothing for a manifest that only worked for the probe, behind another library.
Text manifest_of(const Gpu& gpu) {
    const auto* view = certain_view_of(gpu, "vulkan");
    if (!view || !view->driver || !view->driver->starts_with('/') ||
        !view->driver->ends_with(".json"))
        return std::nullopt;
    const bool works = !has_reason(view->reasons, "nvidia-icd-needs-egl");
    return works ? view->driver : std::nullopt;
}

Text vulkan_manifests(const Selection& selection) {
    return each(selection, ':', manifest_of);
}

/// A driver of that API lists this GPU, first or as an alternative.
bool is_listed_by(const Gpu& gpu, const std::string& driver) {
    const auto found = gpu.apis.find("vulkan");
    if (found == gpu.apis.end() || !found->second.device.is_object())
        return false;
    const auto* others = found->second.device.at("alternatives").as_array();
    return found->second.driver == driver ||
           (others && std::ranges::any_of(*others, [&driver](const Value& other) {
                return other.at("driver") == driver;
            }));
}

/// How many devices the Vulkan loader has when it is told of this manifest alone; those that could
/// not be given to a GPU are in the notes.
std::ptrdiff_t devices_behind(const std::string& manifest, const Report& report) {
    const auto lists = [&manifest](const Gpu& gpu) { return is_listed_by(gpu, manifest); };
    const auto left_out = [&manifest](const Reason& note) {
        return note.detail.at("driver") == manifest;
    };
    return std::ranges::count_if(report.gpus, lists) +
           std::ranges::count(report.software, manifest, &SoftwareDevice::driver) +
           std::ranges::count_if(report.notes, left_out);
}

/// Whether the API lists all of the GPUs, in the order in which they stand here.
bool is_in_order_of(std::string_view api, const Selection& selection) {
    std::vector<std::uint32_t> places;
    for (const auto* gpu : selection.gpus)
        if (const auto* view = certain_view_of(*gpu, api); view && view->index)
            places.push_back(*view->index);
    return places.size() == selection.gpus.size() && std::ranges::is_sorted(places);
}

/// Positions within the one manifest that all of them use, when it has other devices as well, or
/// lists them in another order. Being told positions makes ggml skip its own choice, so no
/// positions are better than needless ones.
Text vulkan_indices(const Selection& selection) {
    const auto manifest = vulkan_manifests(selection);
    if (!manifest || manifest->find(':') != std::string::npos)
        return std::nullopt;
    if (std::cmp_equal(devices_behind(*manifest, selection.report), selection.gpus.size()) &&
        is_in_order_of("vulkan", selection))
        return std::nullopt;
    return each_its_own(selection, [](const Gpu& gpu) { return index_in(gpu, "vulkan"); });
}

/// The manifests that list these GPUs alone, so that the loader told of them has no other device.
Text vulkan_own_manifest(const Selection& selection) {
    const auto manifests = vulkan_manifests(selection);
    if (!manifests)
        return std::nullopt;
    std::ptrdiff_t behind = 0;
    for (const auto manifest : split(*manifests, ':'))
        behind += devices_behind(std::string{manifest}, selection.report);
    return std::cmp_equal(behind, selection.gpus.size()) ? manifests : std::nullopt;
}

/// The position among the GPUs behind one manifest, which has no device that could not be joined:
/// ggml leaves devices of the processor out when it counts for itself.
Text vulkan_ranks(const Selection& selection) {
    const auto manifest = vulkan_manifests(selection);
    if (!manifest || manifest->find(':') != std::string::npos)
        return std::nullopt;
    const auto& gpus = selection.report.gpus;
    const auto is_behind = [&](const Gpu& gpu) { return is_listed_by(gpu, *manifest); };
    const auto& software = selection.report.software;
    if (devices_behind(*manifest, selection.report) !=
        std::ranges::count_if(gpus, is_behind) +
            std::ranges::count(software, manifest, &SoftwareDevice::driver))
        return std::nullopt;
    return each_its_own(selection, [&](const Gpu& gpu) -> Text {
        const auto own = index_in(gpu, "vulkan");
        std::size_t rank = 0;
        for (const auto& other : gpus) {
            const auto place = is_behind(other) ? index_in(other, "vulkan") : Text{};
            if (is_behind(other) && (!place || !own || manifest_of(other) != manifest))
                return std::nullopt;
            if (place && place->size() == own->size() ? *place < *own
                                                      : place && place->size() < own->size())
                ++rank;
        }
        return own ? Text{std::to_string(rank)} : std::nullopt;
    });
}

/// Mesa's device-select layer obeys MESA_VK_DEVICE_SELECT and DRI_PRIME for Mesa's own drivers.
bool is_mesa(const Gpu& gpu) {
    const auto* view = certain_view_of(gpu, "vulkan");
    const auto* driver = view ? view->device.at("driver_id").as_string() : nullptr;
    return driver && driver->find("mesa") != std::string::npos;
}

/// The only GPU of the selection, when a Mesa driver drives it. Units share what Mesa's layer names
/// a GPU by.
const Gpu* single_mesa_gpu(const Selection& selection) {
    const bool is_it = selection.gpus.size() == 1 && is_mesa(*selection.gpus.front()) &&
                       !unit_of(*selection.gpus.front());
    return is_it ? selection.gpus.front() : nullptr;
}

Text pci_ids(const Gpu& gpu) {
    if (!gpu.pci || !gpu.pci->vendor_id || !gpu.pci->device_id)
        return std::nullopt;
    return *gpu.pci->vendor_id + ":" + *gpu.pci->device_id;
}

bool has_twin(const Gpu& gpu, const Report& report) {
    return std::ranges::count(report.gpus, pci_ids(gpu), pci_ids) > 1;
}

Text mesa_device(const Selection& selection) {
    const auto* gpu = single_mesa_gpu(selection);
    return gpu && !has_twin(*gpu, selection.report) ? pci_ids(*gpu) : std::nullopt;
}

/// "pci-0000_03_00_0".
/// Source: Mesa environment variables, DRI_PRIME.
Text mesa_tag(const Selection& selection) {
    const auto* gpu = single_mesa_gpu(selection);
    if (!gpu || !gpu->pci || !gpu->pci->address)
        return std::nullopt;
    auto address = text_of(*gpu->pci->address);
    std::ranges::replace(address, ':', '_');
    std::ranges::replace(address, '.', '_');
    return "pci-" + address;
}

/// The same, where mesa_device would name two cards.
Text mesa_pci(const Selection& selection) {
    const bool is_one = selection.gpus.size() == 1;
    return is_one && has_twin(*selection.gpus.front(), selection.report) ? mesa_tag(selection)
                                                                         : std::nullopt;
}

/// The vendor library of GLX that renders on this GPU while another shows the picture; it can't
/// choose between two cards. Source: NVIDIA driver README, "PRIME Render Offload".
Text glx_offload(const Selection& selection) {
    const auto is_nvidia = [](const Gpu& gpu) { return gpu.driver.name == "nvidia"; };
    const auto& gpus = selection.report.gpus;
    const bool is_only = selection.gpus.size() == 1 && is_nvidia(*selection.gpus.front()) &&
                         std::ranges::count_if(gpus, is_nvidia) == 1;
    const auto is_display = [](const Gpu& gpu) {
        return gpu.primary && gpu.kind != GpuKind::DisplayOnly;
    };
    const bool has_display =
        std::ranges::any_of(gpus, is_display) && !selection.gpus.front()->primary;
    return is_only && has_display ? Text{"nvidia"} : std::nullopt;
}

/// A name as a driver gave it, where nothing in it could mean more than a name.
Text plain_name(const Value& value) {
    const auto* text = value.as_string();
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    return text && std::ranges::all_of(*text, is_plain) ? Text{*text} : std::nullopt;
}

Text opencl_fact(const Gpu& gpu, std::string_view key) {
    const auto* view = certain_view_of(gpu, "opencl");
    return view ? plain_name(view->device.at(key)) : std::nullopt;
}

Text opencl_platform(const Selection& selection) {
    return each(selection, '\n', [](const Gpu& gpu) { return opencl_fact(gpu, "platform_name"); });
}

/// ggml takes the first device whose name contains this one, so no other may.
Text opencl_device(const Selection& selection) {
    if (selection.gpus.size() != 1)
        return std::nullopt;
    const auto name = opencl_fact(*selection.gpus.front(), "name");
    const auto contains_it = [&name](const Gpu& gpu) {
        const auto other = opencl_fact(gpu, "name");
        return name && other && other->find(*name) != std::string::npos;
    };
    const auto alike = std::ranges::count_if(selection.report.gpus, contains_it);
    return alike == 1 ? name : std::nullopt;
}

/// The .icd file of a GPU whose OpenCL driver has one platform, which is then number 0 to a loader
/// that is told of that file alone.
Text opencl_vendor(const Selection& selection) {
    const auto* gpu = selection.gpus.size() == 1 ? selection.gpus.front() : nullptr;
    const auto* view = gpu ? certain_view_of(*gpu, "opencl") : nullptr;
    const auto& driver = view ? view->driver : std::nullopt;
    if (!driver || !driver->starts_with('/') || !driver->ends_with(".icd"))
        return std::nullopt;
    const auto& platform = view->device.at("platform_name");
    const auto is_elsewhere = [&](const Text& other, const Value& device) {
        return other == driver && device.at("platform_name") != platform;
    };
    for (const auto& other : selection.report.gpus)
        if (const auto* seen = certain_view_of(other, "opencl"))
            if (is_elsewhere(seen->driver, seen->device))
                return std::nullopt;
    for (const auto& other : selection.report.software)
        if (is_elsewhere(other.driver, other.device))
            return std::nullopt;
    return platform.is_string() ? driver : std::nullopt;
}

Text opencl_indices(const Selection& selection) {
    return each_its_own(selection, [](const Gpu& gpu) { return index_in(gpu, "opencl"); });
}

/// Positions by ROCm's OpenCL driver, which counts as HSA does.
Text rocm_opencl_indices(const Selection& selection) {
    return each_its_own(selection, [](const Gpu& gpu) {
        const auto* view = certain_view_of(gpu, "opencl");
        const bool is_rocm =
            view && view->driver && view->driver->find("amdocl") != std::string::npos;
        return is_rocm ? index_in(gpu, "opencl") : std::nullopt;
    });
}

Text pci_addresses(const Selection& selection) {
    return each_its_own(selection, [](const Gpu& gpu) -> Text {
        const bool is_named = gpu.pci && gpu.pci->address && !unit_of(gpu);
        return is_named ? Text{text_of(*gpu.pci->address)} : std::nullopt;
    });
}

/// Not each(): two GPUs of one size are two numbers.
Text memory_mib(const Selection& selection) {
    std::string list;
    for (const auto* gpu : selection.gpus) {
        if (!gpu->memory.allocatable)
            return std::nullopt;
        list += (list.empty() ? "" : ",") + std::to_string(gpu->memory.allocatable->count >> 20);
    }
    return list.empty() ? std::nullopt : Text{std::move(list)};
}

/// The first position in any order, where there is no second GPU.
Text only_gpu(const Selection& selection) {
    const auto counts = [](const Gpu& gpu) { return gpu.kind != GpuKind::DisplayOnly; };
    const bool is_only = selection.gpus.size() == 1 && counts(*selection.gpus.front()) &&
                         std::ranges::count_if(selection.report.gpus, counts) == 1;
    return is_only ? Text{"0"} : std::nullopt;
}

/// The API of "cuda_pci_ranks": any that serves one vendor's GPUs. Null for another fact.
const ApiInfo* ranked_api(std::string_view name) {
    constexpr std::string_view kEnd = "_pci_ranks";
    if (!name.ends_with(kEnd))
        return nullptr;
    const auto* api = find_api(name.substr(0, name.size() - kEnd.size()));
    return api && computes(*api) && !api->vendor.empty() ? api : nullptr;
}

struct SelectorFact {
    std::string_view name = {};
    Text (*find)(const Selection&) = nullptr;
};
constexpr std::array kSelectorFacts =
    std::to_array<SelectorFact>({{"glx_offload", glx_offload},
                                 {"hip_ids", hip_ids},
                                 {"hip_indices", hip_indices},
                                 {"memory_mib", memory_mib},
                                 {"mesa_device", mesa_device},
                                 {"mesa_pci", mesa_pci},
                                 {"mesa_tag", mesa_tag},
                                 {"nvidia_uuids", nvidia_uuids},
                                 {"only_gpu", only_gpu},
                                 {"opencl_device", opencl_device},
                                 {"opencl_indices", opencl_indices},
                                 {"opencl_platform", opencl_platform},
                                 {"opencl_vendor", opencl_vendor},
                                 {"ordinals", ordinals},
                                 {"pci_addresses", pci_addresses},
                                 {"rocm_opencl_indices", rocm_opencl_indices},
                                 {"vulkan_indices", vulkan_indices},
                                 {"vulkan_manifests", vulkan_manifests},
                                 {"vulkan_own_manifest", vulkan_own_manifest},
                                 {"vulkan_ranks", vulkan_ranks}});

}  // namespace

bool is_selector_fact(std::string_view name) {
    return ranked_api(name) ||
           std::ranges::find(kSelectorFacts, name, &SelectorFact::name) != kSelectorFacts.end();
}

std::optional<std::string> selector_fact(std::string_view name, const Selection& selection) {
    if (const auto* api = ranked_api(name))
        return pci_ranks(selection, api->word, api->vendor);
    const auto* fact = std::ranges::find(kSelectorFacts, name, &SelectorFact::name);
    return fact == kSelectorFacts.end() ? std::nullopt : fact->find(selection);
}

}  // namespace gpuprobe::inline policy
