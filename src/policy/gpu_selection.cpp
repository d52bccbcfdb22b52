// SPDX-License-Identifier: Apache-2.0
#include "policy/gpu_selection.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "base/text.h"
#include "policy/accelerators.h"
#include "report/compute_view.h"
#include "report/gpu_views.h"
#include "report/report.h"

namespace gpuprobe::inline policy {
namespace {

/// The architecture in the vendor's terms: compute capability, gfx target or Intel IP version.
const std::optional<std::string>& architecture_of(const Gpu& gpu) {
    const auto& known = gpu.architecture;
    if (known.cuda_compute_capability)
        return known.cuda_compute_capability;
    return known.gfx_target ? known.gfx_target : known.intel_ip;
}

}  // namespace

std::vector<const Gpu*> in_order(const Report& report) {
    std::vector<const Gpu*> gpus;
    for (const auto& gpu : report.gpus)
        gpus.push_back(&gpu);
    std::ranges::sort(
        gpus, [](const Gpu* left, const Gpu* right) { return comes_before(*left, *right); });
    return gpus;
}

const Gpu* default_gpu(const Report& report, const std::vector<std::string>& chosen) {
    const auto gpus = in_order(report);
    const auto found = std::ranges::find_if(gpus, [&chosen](const Gpu* gpu) {
        // If no GPU was chosen, any GPU that can compute may be the default.
        return chosen.empty() ? gpu->kind != GpuKind::DisplayOnly
                              : gpu->id == whole_id(chosen.front());
    });
    return found == gpus.end() ? nullptr : *found;
}

void put_default_first(Report& report, const std::vector<std::string>& chosen) {
    const auto* gpu = default_gpu(report, chosen);
    if (!gpu)
        return;
    const auto place = std::ranges::find(report.gpus, gpu->id, &Gpu::id);
    std::rotate(report.gpus.begin(), place, std::next(place));
}

bool is_alike(const Gpu& left, const Gpu& right) {
    if (left.id == right.id)
        return true;
    // A MIG instance can't be combined with another GPU.
    if (stands_alone(left) || stands_alone(right))
        return false;
    if (!left.vendor || left.vendor != right.vendor)
        return false;
    const auto& architecture = architecture_of(left);
    const auto& other = architecture_of(right);
    if (architecture && other)
        return architecture == other;
    // If an architecture is unknown, GPUs of the same model count as alike.
    return left.pci && right.pci && left.pci->device_id &&
           left.pci->device_id == right.pci->device_id;
}

namespace {

using Text = std::optional<std::string>;

/// Maximum length of a fact in bytes; a longer fact is treated as unknown.
constexpr std::size_t kMaxFact = 1024;
constexpr std::string_view kHexadecimal = "0123456789abcdefABCDEF";

/// The API's view of the GPU; null if the API does not list the GPU, or if the match is uncertain.
const ApiView* certain_view_of(const Gpu& gpu, std::string_view api) {
    const auto found = gpu.apis.find(std::string{api});
    if (found == gpu.apis.end())
        return nullptr;
    const auto& view = found->second;
    const bool is_certain = view.outcome == Outcome::Answered && view.joined_by != "weak";
    return is_certain && view.device.is_object() ? &view : nullptr;
}

/// Joins the values of `one(gpu)` for all GPUs, without duplicates; nullopt if a GPU has no value,
/// if a value contains the separator, or if the list is too long.
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

/// Like each(), but the result is nullopt if two GPUs have the same value.
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

/// The UUID with its prefix, because CUDA would read a UUID without a prefix as an index; nullopt
/// for a masked UUID (all zeros), which selects nothing. Source: CUDA C++ Programming Guide, CUDA
/// environment variables.
Text nvidia_uuid(const Gpu& gpu) {
    const auto& uuid = gpu.identity.nvidia_uuid;
    if (!uuid || !(uuid->starts_with("GPU-") || uuid->starts_with("MIG-")))
        return std::nullopt;
    // Drivers before 470 identify a MIG instance by the UUID of its GPU, followed by the numbers of
    // the instance.
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

/// An id that consists of "GPU-" and 16 hexadecimal digits. Devices without an id all report
/// "GPU-XX". Source: ROCr, HSA_AMD_AGENT_INFO_UUID in hsa_ext_amd.h.
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

/// The GPU's index in the list of an API.
Text index_in(const Gpu& gpu, std::string_view api) {
    const auto* view = certain_view_of(gpu, api);
    return view && view->index ? Text{std::to_string(*view->index)} : std::nullopt;
}

/// The position of the partition in the order of KFD nodes, which is ROCm's order. The position in
/// this order is used only for partitions, which have no other name, and only if ROCm itself was
/// not probed. Source: ROCR-Runtime, BuildTopology in amd_topology.cpp.
Text kfd_rank(const Gpu& gpu, const Report& report) {
    if (!partition_of(gpu) || !gpu.identity.kfd_node || was_asked(gpu, "hip"))
        return std::nullopt;
    return std::to_string(std::ranges::count_if(report.gpus, [&gpu](const Gpu& other) {
        return other.identity.kfd_node && *other.identity.kfd_node < *gpu.identity.kfd_node;
    }));
}

/// ROCm's indices.
Text hip_indices(const Selection& selection) {
    return each_its_own(selection, [&selection](const Gpu& gpu) {
        const auto index = index_in(gpu, "hip");
        return index ? index : kfd_rank(gpu, selection.report);
    });
}

/// The numbers 0, 1, … for the GPUs, in the order of the selection.
Text ordinals(const Selection& selection) {
    std::size_t next = 0;
    return each(selection, ',', [&next](const Gpu&) { return std::to_string(next++); });
}

/// The GPUs that the API enumerates, sorted by PCI address. The result is empty if the order is
/// uncertain because a GPU from the vendor did not answer, has no address or is partitioned.
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
    // If there is only one GPU, it is the first in any order.
    if (gpus.size() > 1 && !std::ranges::all_of(gpus, has_address))
        return {};
    if (gpus.size() > 1)
        std::ranges::sort(gpus, {}, [](const Gpu* gpu) { return *gpu->pci->address; });
    return gpus;
}

/// The positions of the selected GPUs in the order of PCI addresses.
Text pci_ranks(const Selection& selection, std::string_view api, std::string_view vendor) {
    const auto order = in_pci_order(selection.report, api, vendor);
    return each_its_own(selection, [&order](const Gpu& gpu) -> Text {
        const auto found = std::ranges::find(order, &gpu);
        return found == order.end() ? Text{} : Text{std::to_string(found - order.begin())};
    });
}

/// The manifest of the Vulkan driver for the GPU; nullopt if the driver works only in gpuprobe's
/// probe, which loads another library of the driver.
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

/// Whether a Vulkan driver lists the GPU, as its first driver or as an alternative.
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

/// The number of devices that the Vulkan loader lists if it loads only one manifest. Devices that
/// could not be matched to a GPU are counted from the notes.
std::ptrdiff_t devices_behind(const std::string& manifest, const Report& report) {
    const auto lists = [&manifest](const Gpu& gpu) { return is_listed_by(gpu, manifest); };
    const auto left_out = [&manifest](const Reason& note) {
        return note.detail.at("driver") == manifest;
    };
    return std::ranges::count_if(report.gpus, lists) +
           std::ranges::count(report.software, manifest, &SoftwareDevice::driver) +
           std::ranges::count_if(report.notes, left_out);
}

/// Whether the API lists all selected GPUs in the order of the selection.
bool is_in_order_of(std::string_view api, const Selection& selection) {
    std::vector<std::uint32_t> places;
    for (const auto* gpu : selection.gpus)
        if (const auto* view = certain_view_of(*gpu, api); view && view->index)
            places.push_back(*view->index);
    return places.size() == selection.gpus.size() && std::ranges::is_sorted(places);
}

/// Indices within the manifest, if all GPUs use the same manifest; nullopt if the manifest lists
/// exactly the selected GPUs in the order of the selection. If ggml gets indices, it does not
/// choose devices itself, so unnecessary indices are omitted.
Text vulkan_indices(const Selection& selection) {
    const auto manifest = vulkan_manifests(selection);
    if (!manifest || manifest->find(':') != std::string::npos)
        return std::nullopt;
    // If the driver has only the selected devices, the indices would change nothing.
    if (std::cmp_equal(devices_behind(*manifest, selection.report), selection.gpus.size()) &&
        is_in_order_of("vulkan", selection))
        return std::nullopt;
    return each_its_own(selection, [](const Gpu& gpu) { return index_in(gpu, "vulkan"); });
}

/// The manifests of drivers that list only the selected GPUs. A loader that loads only these
/// manifests does not list any other device.
Text vulkan_own_manifest(const Selection& selection) {
    const auto manifests = vulkan_manifests(selection);
    if (!manifests)
        return std::nullopt;
    std::ptrdiff_t behind = 0;
    for (const auto manifest : split(*manifests, ':'))
        behind += devices_behind(std::string{manifest}, selection.report);
    return std::cmp_equal(behind, selection.gpus.size()) ? manifests : std::nullopt;
}

/// The positions of the GPUs among the GPUs of one manifest; nullopt if a device of the manifest
/// could not be matched to a GPU. Software devices aren't counted, because ggml ignores them when
/// it numbers devices.
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
            // Indices are decimal strings, so compare their lengths first, then their digits.
            if (place && place->size() == own->size() ? *place < *own
                                                      : place && place->size() < own->size())
                ++rank;
        }
        return own ? Text{std::to_string(rank)} : std::nullopt;
    });
}

/// Whether a Mesa driver serves the GPU. Mesa's device-select layer, which reads
/// MESA_VK_DEVICE_SELECT and DRI_PRIME, is released together with Mesa's drivers.
bool is_mesa(const Gpu& gpu) {
    const auto* view = certain_view_of(gpu, "vulkan");
    const auto* driver = view ? view->device.at("driver_id").as_string() : nullptr;
    return driver && driver->find("mesa") != std::string::npos;
}

/// The only GPU of the selection, if a Mesa driver serves this GPU. The result is null for a
/// partition, because the layer's names don't distinguish the partitions of a GPU.
const Gpu* single_mesa_gpu(const Selection& selection) {
    const bool is_it = selection.gpus.size() == 1 && is_mesa(*selection.gpus.front()) &&
                       !partition_of(*selection.gpus.front());
    return is_it ? selection.gpus.front() : nullptr;
}

/// "10de:2684": PCI vendor and device id.
Text pci_ids(const Gpu& gpu) {
    if (!gpu.pci || !gpu.pci->vendor_id || !gpu.pci->device_id)
        return std::nullopt;
    return *gpu.pci->vendor_id + ":" + *gpu.pci->device_id;
}

/// Whether the machine has a second GPU with the same PCI ids.
bool has_twin(const Gpu& gpu, const Report& report) {
    return std::ranges::count(report.gpus, pci_ids(gpu), pci_ids) > 1;
}

/// The value of MESA_VK_DEVICE_SELECT, which consists of PCI ids that only the selected GPU has.
Text mesa_device(const Selection& selection) {
    const auto* gpu = single_mesa_gpu(selection);
    return gpu && !has_twin(*gpu, selection.report) ? pci_ids(*gpu) : std::nullopt;
}

/// The value of DRI_PRIME, such as "pci-0000_03_00_0". Source: Mesa environment variables,
/// DRI_PRIME.
Text mesa_tag(const Selection& selection) {
    const auto* gpu = single_mesa_gpu(selection);
    if (!gpu || !gpu->pci || !gpu->pci->address)
        return std::nullopt;
    auto address = text_of(*gpu->pci->address);
    std::ranges::replace(address, ':', '_');
    std::ranges::replace(address, '.', '_');
    return "pci-" + address;
}

/// The PCI device ids for filtering devices in the Vulkan loader; nullopt if another GPU has
/// one of these ids, if the order of the GPUs would be lost, or if the manifests have no other
/// device.
Text vulkan_device_ids(const Selection& selection) {
    const auto id_of = [](const Gpu& gpu) -> Text {
        return gpu.pci && gpu.pci->device_id ? Text{"0x" + *gpu.pci->device_id} : std::nullopt;
    };
    const auto ids = each(selection, ',', id_of);
    if (!ids || vulkan_own_manifest(selection) || !is_in_order_of("vulkan", selection))
        return std::nullopt;
    const auto chosen = split(*ids, ',');
    const auto is_let_through = [&](const Gpu& gpu) {
        const auto id = id_of(gpu);
        return id && std::ranges::find(chosen, *id) != chosen.end();
    };
    const auto let_through = std::ranges::count_if(selection.report.gpus, is_let_through);
    return std::cmp_equal(let_through, selection.gpus.size()) ? ids : std::nullopt;
}

/// Returns mesa_tag() if mesa_device() would match two GPUs; otherwise returns nullopt.
Text mesa_pci(const Selection& selection) {
    const bool is_one = selection.gpus.size() == 1;
    return is_one && has_twin(*selection.gpus.front(), selection.report) ? mesa_tag(selection)
                                                                         : std::nullopt;
}

/// The vendor's GLX library that renders on this GPU while another GPU drives the display. This
/// library can't choose between two GPUs. Source: NVIDIA driver README, "PRIME Render Offload".
Text glx_offload(const Selection& selection) {
    const auto is_nvidia = [](const Gpu& gpu) { return gpu.driver.name == "nvidia"; };
    const auto& gpus = selection.report.gpus;
    const bool is_only = selection.gpus.size() == 1 && is_nvidia(*selection.gpus.front()) &&
                         std::ranges::count_if(gpus, is_nvidia) == 1;
    const auto is_display = [](const Gpu& gpu) {
        return gpu.primary && gpu.kind != GpuKind::DisplayOnly;
    };
    const bool offloads =
        is_only && !selection.gpus.front()->primary && std::ranges::any_of(gpus, is_display);
    return offloads ? Text{"nvidia"} : std::nullopt;
}

/// A name that a driver reports; nullopt if the name contains characters with a special meaning.
Text plain_name(const Value& value) {
    const auto* text = value.as_string();
    const auto is_plain = [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; };
    return text && std::ranges::all_of(*text, is_plain) ? Text{*text} : std::nullopt;
}

/// A device property in OpenCL that is a string.
Text opencl_fact(const Gpu& gpu, std::string_view key) {
    const auto* view = certain_view_of(gpu, "opencl");
    return view ? plain_name(view->device.at(key)) : std::nullopt;
}

Text opencl_platform(const Selection& selection) {
    return each(selection, '\n', [](const Gpu& gpu) { return opencl_fact(gpu, "platform_name"); });
}

/// The name of the device. ggml uses the first device whose name contains the given name, so no
/// other device's name may contain it.
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

/// The .icd file for a GPU whose OpenCL driver has only one platform. A loader that loads only this
/// file gives the platform the number 0.
Text opencl_vendor(const Selection& selection) {
    const auto* gpu = selection.gpus.size() == 1 ? selection.gpus.front() : nullptr;
    const auto* view = gpu ? certain_view_of(*gpu, "opencl") : nullptr;
    const auto& driver = view ? view->driver : std::nullopt;
    if (!driver || !driver->starts_with('/') || !driver->ends_with(".icd"))
        return std::nullopt;
    const auto& platform = view->device.at("platform_name");
    // Whether the OpenCL driver has a second platform.
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

/// OpenCL's device indices.
Text opencl_indices(const Selection& selection) {
    return each_its_own(selection, [](const Gpu& gpu) { return index_in(gpu, "opencl"); });
}

/// Indices of the GPUs in ROCm's OpenCL driver, which uses HSA's order.
Text rocm_opencl_indices(const Selection& selection) {
    return each_its_own(selection, [](const Gpu& gpu) {
        const auto* view = certain_view_of(gpu, "opencl");
        const bool is_rocm =
            view && view->driver && view->driver->find("amdocl") != std::string::npos;
        return is_rocm ? index_in(gpu, "opencl") : std::nullopt;
    });
}

/// The PCI addresses of the GPUs; nullopt for partitions, which share an address.
Text pci_addresses(const Selection& selection) {
    return each_its_own(selection, [](const Gpu& gpu) -> Text {
        const bool is_named = gpu.pci && gpu.pci->address && !partition_of(gpu);
        return is_named ? Text{text_of(*gpu.pci->address)} : std::nullopt;
    });
}

/// Sizes in MiB. The function does not use each(), because two GPUs with memory of equal size need
/// two entries.
Text memory_mib(const Selection& selection) {
    std::string list;
    for (const auto* gpu : selection.gpus) {
        if (!gpu->memory.allocatable)
            return std::nullopt;
        list += (list.empty() ? "" : ",") + std::to_string(gpu->memory.allocatable->count >> 20);
    }
    return list.empty() ? std::nullopt : Text{std::move(list)};
}

/// The render node of the first GPU, which is the node that programs that decode videos open.
Text render_node(const Selection& selection) {
    if (selection.gpus.empty())
        return std::nullopt;
    const auto& nodes = selection.gpus.front()->nodes;
    const auto found = std::ranges::find_if(
        nodes, [](const DeviceNode& node) { return node.path.starts_with(kRenderNode); });
    return found == nodes.end() ? std::nullopt : Text{found->path};
}

/// The name of the VA-API driver for the first GPU, as LIBVA_DRIVER_NAME needs it; nullopt if
/// the name has special characters, which could lead out of the folder of the drivers.
Text va_driver_name(const Selection& selection) {
    const auto* view =
        selection.gpus.empty() ? nullptr : certain_view_of(*selection.gpus.front(), "vaapi");
    const auto* name = view ? view->device.at("driver_name").as_string() : nullptr;
    const bool is_plain = name && !name->empty() &&
                          name->find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == std::string::npos;
    return is_plain ? Text{*name} : std::nullopt;
}

/// The index "0", which is valid in any order because the machine has only this GPU.
Text only_gpu(const Selection& selection) {
    const auto counts = [](const Gpu& gpu) { return gpu.kind != GpuKind::DisplayOnly; };
    const bool is_only = selection.gpus.size() == 1 && counts(*selection.gpus.front()) &&
                         std::ranges::count_if(selection.report.gpus, counts) == 1;
    return is_only ? Text{"0"} : std::nullopt;
}

/// OpenVINO numbers Intel's integrated GPUs first, then Intel's other GPUs, then GPUs from other
/// vendors. Source: openvinotoolkit/openvino, 0e888f7772bc, get_device_priority() in
/// src/plugins/intel_gpu/include/intel_gpu/runtime/device.hpp.
int openvino_priority(const Gpu& gpu) {
    if (gpu.vendor != "intel")
        return 2;
    return gpu.kind == GpuKind::Integrated ? 0 : 1;
}

/// Whether OpenVINO lists the GPU, which requires a sufficiently new OpenCL driver; nullopt if
/// unknown.
std::optional<bool> is_listed_by_openvino(const Gpu& gpu) {
    const auto verdict = gpu_verdict(*find_accelerator_backend("openvino"), gpu);
    return verdict ? verdict->usable : std::nullopt;
}

/// OpenVINO's name for an Intel GPU, which is "GPU" for a single GPU, and otherwise "GPU.0" and so
/// on. If it is unknown whether OpenVINO lists another GPU, the name of a GPU that is first in any
/// case is "GPU.0", which OpenVINO also accepts for a single GPU, and a GPU that may follow another
/// GPU has no name.
Text openvino_gpu(const Gpu& gpu, const Report& report) {
    // OpenVINO also lists partitions of GPUs, and GPUs from other vendors, but does not support
    // these devices.
    if (gpu.vendor != "intel" || partition_of(gpu) || is_listed_by_openvino(gpu) != true)
        return std::nullopt;
    std::size_t place = 0;
    bool is_only = true;
    for (const auto& other : report.gpus) {
        if (&other == &gpu || other.kind == GpuKind::DisplayOnly ||
            is_listed_by_openvino(other) == false || is_accelerator(report, other))
            continue;
        is_only = false;
        const auto order = openvino_priority(other) <=> openvino_priority(gpu);
        // GPUs of equal priority are in the same order as in the OpenCL driver.
        const auto* own = certain_view_of(gpu, "opencl");
        const auto* others = certain_view_of(other, "opencl");
        const bool has_order = own && others && own->index && others->index;
        const bool may_be_earlier = order < 0 && is_listed_by_openvino(other) != true;
        if (is_divided(other) || may_be_earlier || (order == 0 && !has_order))
            return std::nullopt;
        if (order < 0 || (order == 0 && *others->index < *own->index))
            ++place;
    }
    return is_only ? "GPU" : "GPU." + std::to_string(place);
}

/// The name that an accelerator has in OpenVINO. If a machine has several NPUs, OpenVINO adds the
/// architecture to the name. Source: OpenVINO, CoreImpl::get_available_devices() in
/// src/inference/src/dev/core_impl.cpp.
Text openvino_npu(const Gpu& gpu, const Report& report) {
    const auto is_npu = [](const auto& device) {
        return device.vendor == "intel" && device.driver.name == "intel_vpu";
    };
    return is_npu(gpu) && std::ranges::count_if(report.accelerators, is_npu) == 1 ? Text{"NPU"}
                                                                                  : std::nullopt;
}

Text openvino_device(const Gpu& gpu, const Report& report) {
    return is_accelerator(report, gpu) ? openvino_npu(gpu, report) : openvino_gpu(gpu, report);
}

/// OpenVINO's names for the selected devices.
Text openvino_devices(const Selection& selection) {
    return each_its_own(
        selection, [&selection](const Gpu& gpu) { return openvino_device(gpu, selection.report); });
}

/// The number "0", as in "pci:0", if the machine has only one Coral accelerator on PCI Express.
/// libedgetpu numbers several accelerators in the unknown order of an unsorted listing of
/// /sys/class/apex.
Text coral_numbers(const Selection& selection) {
    const auto is_coral = [](const Gpu& gpu) {
        return std::ranges::any_of(
            gpu.nodes, [](const DeviceNode& node) { return node.path.starts_with("/dev/apex_"); });
    };
    const bool is_only = std::ranges::count_if(selection.report.gpus, is_coral) == 1;
    return is_only && selection.gpus.size() == 1 && is_coral(*selection.gpus.front())
               ? Text{"0"}
               : std::nullopt;
}

/// The API that the name of a fact such as "cuda_pci_ranks" contains. The API must support only the
/// GPUs of one vendor. Null for other facts.
const ApiInfo* ranked_api(std::string_view name) {
    constexpr std::string_view kEnd = "_pci_ranks";
    if (!name.ends_with(kEnd))
        return nullptr;
    const auto* api = find_api(name.substr(0, name.size() - kEnd.size()));
    return api && computes(*api) && !api->vendor.empty() ? api : nullptr;
}

/// A fact, and the function that determines the value of the fact.
struct SelectorFact {
    std::string_view name = {};
    Text (*find)(const Selection&) = nullptr;
};
constexpr std::array kSelectorFacts =
    std::to_array<SelectorFact>({{"coral_numbers", coral_numbers},
                                 {"glx_offload", glx_offload},
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
                                 {"openvino_devices", openvino_devices},
                                 {"ordinals", ordinals},
                                 {"pci_addresses", pci_addresses},
                                 {"render_node", render_node},
                                 {"rocm_opencl_indices", rocm_opencl_indices},
                                 {"va_driver_name", va_driver_name},
                                 {"vulkan_device_ids", vulkan_device_ids},
                                 {"vulkan_indices", vulkan_indices},
                                 {"vulkan_manifests", vulkan_manifests},
                                 {"vulkan_own_manifest", vulkan_own_manifest},
                                 {"vulkan_ranks", vulkan_ranks}});

}  // namespace

// Source: Mesa writes "Mesa " and the version of its package into driverInfo.
std::optional<Version> mesa_version(const Gpu& gpu) {
    constexpr std::string_view kStart = "Mesa ";
    const auto* view = certain_view_of(gpu, "vulkan");
    const auto* info = view && is_mesa(gpu) ? view->device.at("driver_info").as_string() : nullptr;
    return info && info->starts_with(kStart)
               ? leading_version(std::string_view{*info}.substr(kStart.size()))
               : std::nullopt;
}

std::optional<std::string> opencl_loader(const Report& report) {
    const auto runtime = report.runtimes.find("opencl");
    return runtime == report.runtimes.end() ? std::nullopt : runtime->second.loader_name;
}

bool lacks_device_select(const Report& report) {
    const auto& libraries = report.host.libraries;
    return libraries &&
           std::ranges::find(*libraries, "libVkLayer_MESA_device_select.so") == libraries->end();
}

bool is_selector_fact(std::string_view name) {
    return ranked_api(name) ||
           std::ranges::find(kSelectorFacts, name, &SelectorFact::name) != kSelectorFacts.end();
}

std::optional<std::string> selector_fact(std::string_view name, const Selection& selection) {
    // Facts whose names end in "_pci_ranks" are computed here; all other facts are in the table.
    if (const auto* api = ranked_api(name))
        return pci_ranks(selection, api->word, api->vendor);
    const auto* fact = std::ranges::find(kSelectorFacts, name, &SelectorFact::name);
    return fact == kSelectorFacts.end() ? std::nullopt : fact->find(selection);
}

}  // namespace gpuprobe::inline policy
