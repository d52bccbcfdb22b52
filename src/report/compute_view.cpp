// SPDX-License-Identifier: Apache-2.0
#include "report/compute_view.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/text.h"
#include "report/api_device.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/trials.h"

namespace gpuprobe::inline report {
namespace {

bool is_mig(const Partition& partition) {
    return partition.name.starts_with("mig-");
}

/// Adapts the GPU's name or title to a partition: for MIG, appends the profile in the same way as
/// programs.
std::optional<std::string> with_part(const std::optional<std::string>& name,
                                     const Partition& partition) {
    if (!name || !is_mig(partition))
        return name;
    return *name + " MIG" + (partition.profile ? " " + *partition.profile : "");
}

/// The GPU's nodes without the nodes that belong only to other partitions.
std::vector<DeviceNode> nodes_of(const Gpu& gpu, const Partition& partition) {
    const auto has = [](const Partition& one, const DeviceNode& node) {
        return std::ranges::find(one.nodes, node.path) != one.nodes.end();
    };
    auto nodes = gpu.nodes;
    std::erase_if(nodes, [&](const DeviceNode& node) {
        return !has(partition, node) &&
               std::ranges::any_of(gpu.partitions,
                                   [&](const Partition& other) { return has(other, node); });
    });
    return nodes;
}

/// The memory of a partition; its size is both physical and allocatable.
GpuMemory memory_of(const Gpu& gpu, const Partition& partition) {
    GpuMemory memory{.kind = gpu.memory.kind};
    if (!partition.memory)
        return memory;
    memory.physical = partition.memory->total;
    memory.allocatable = partition.memory->total;
    memory.free = partition.memory->free;
    if (memory.free)
        memory.free_at = gpu.memory.free_at;
    return memory;
}

/// The identity of a partition. A whole GPU's UUIDs would select more than the partition.
Identity identity_of(const Gpu& gpu, const Partition& partition) {
    Identity identity{.kfd_node = partition.kfd_node};
    if (partition.uuid && partition.uuid->starts_with("MIG-"))
        identity.nvidia_uuid = partition.uuid;
    else
        identity.hip_unique_id = partition.uuid;
    if (partition.node && partition.node->starts_with(kRenderNode))
        identity.drm.render = "226:" + partition.node->substr(kRenderNode.size());
    // Partitions that share the GPU's render node also share its primary node.
    if (identity.drm.render == gpu.identity.drm.render)
        identity.drm = gpu.identity.drm;
    return identity;
}

/// The alternative with that index in the API; null if no alternative has that index.
const Value* alternative_at(const Value& device, std::uint32_t index) {
    const auto* others = fact(device, facts::kAlternatives);
    for (std::size_t i = 0; others && i < others->size(); ++i)
        if (const auto& other = (*others)[i].at("device"); other.at("index") == Value{index})
            return &other;
    return nullptr;
}

/// The facts of the device with that index, which may not be the device of the view.
Value device_at(const ApiView& view, std::uint32_t index) {
    const auto* other = view.index != index ? alternative_at(view.device, index) : nullptr;
    auto device = other ? *other : view.device;
    if (device.is_object())
        device["alternatives"] = Value{};
    return device;
}

/// An API's view of a partition. Facts about the model are copied from the GPU, unless the API
/// reports facts about the partition.
ApiView narrowed(const ApiView& view, const Partition& partition, std::string_view api) {
    auto narrow = view;
    if (is_listed_when_named(view))
        narrow.device = Value{};  // the facts are only trials of partitions
    if (!narrow.device.is_object())
        return narrow;
    const auto index = partition.indices.find(std::string{api});
    if (index != partition.indices.end()) {
        narrow.index = index->second;
        narrow.device = device_at(view, index->second);
        return narrow;
    }
    // The API does not list the partition itself (NVML): keep the GPU's facts, with the identity
    // and memory of the partition.
    narrow.index.reset();
    narrow.device["alternatives"] = Value{};
    if (narrow.device.find("mig_devices"))  // contains the other instances
        narrow.device["mig_devices"] = Value{};
    narrow.device["index"] = Value{};
    narrow.device["uuid"] = to_value(partition.uuid);
    narrow.device["memory"] = to_value(partition.memory);
    return narrow;
}

/// Whether the API lists any partition of the GPU.
bool any_has_place(const Gpu& gpu, std::string_view api) {
    return std::ranges::any_of(gpu.partitions, [api](const Partition& partition) {
        return partition.indices.contains(std::string{api});
    });
}

/// Removes the trials, because they did not run on this partition.
void drop_trials(BackendView& view) {
    view.verified = false;
    view.score.reset();
    view.verification.reset();
    view.measurement.reset();
}

/// Handles an API that lists other partitions of the GPU, but not this partition.
void add_absence(const Partition& partition, std::string_view api, Gpu& gpu, BackendView& backend) {
    drop_trials(backend);
    if (backend.usable != true)
        return;
    // CUDA shows only one instance to a process. A process that names this instance can use it.
    const bool shows_one = is_mig(partition) && (api == "cuda" || api == "opencl");
    if (shows_one) {
        backend.reasons.push_back(because("one-instance-listed"));
        return;
    }
    backend.usable = false;
    backend.reasons = {because("not-listed")};
    auto& view = gpu.apis[std::string{api}];
    view = ApiView{.outcome = Outcome::Absent, .age = view.age, .reasons = backend.reasons};
}

bool is_of(const Value& device, const Partition& partition, const std::string& api) {
    if (is_mig(partition))
        return partition.uuid && device.at("uuid") == Value{*partition.uuid};
    const auto index = partition.indices.find(api);
    return index != partition.indices.end() && device.at("index") == Value{index->second};
}

/// The trials of the partition. assemble() stores them as alternatives in the view of the API.
Trials trials_of(const ApiView& view, const Partition& partition, const std::string& api) {
    Trials trials;
    const auto* others = fact(view.device, facts::kAlternatives);
    for (std::size_t i = 0; others && i < others->size(); ++i) {
        const auto& device = (*others)[i].at("device");
        auto facts = facts_from(device);
        if (!facts || !is_of(device, partition, api))
            continue;
        const ProbeResult probe{.outcome = Outcome::Answered, .devices = {*facts}};
        if (!device.at("check").is_null())
            trials.verification = verification_from(probe);
        if (!device.at("measured").is_null()) {
            trials.measurement = measurement_from(probe);
            trials.score = score_of(*trials.measurement);
        }
    }
    return trials;
}

/// Adapts the backends' verdicts and trials to the partition.
void narrow_backends(const Gpu& whole, const Partition& partition, Gpu& gpu) {
    for (auto& [word, backend] : gpu.backends) {
        const auto* api = find_api_of_backend(word);
        const auto view = api ? whole.apis.find(std::string{api->word}) : whole.apis.end();
        if (view == whole.apis.end())
            continue;
        const auto place = partition.indices.find(view->first);
        if (place != partition.indices.end() && view->second.index != place->second)
            drop_trials(backend);
        if (place == partition.indices.end() && any_has_place(whole, view->first))
            add_absence(partition, view->first, gpu, backend);
        if (const auto trials = trials_of(view->second, partition, view->first);
            trials.verification || trials.measurement)
            add_trials(trials, api->word, backend);
        // Without an index or a UUID, a program cannot be restricted to this partition.
        if (place == partition.indices.end() && is_mig(partition) && !partition.uuid &&
            backend.usable == true) {
            backend.usable.reset();
            backend.reasons = {because("inconclusive")};
        }
    }
}

/// Removes the video formats of a direction, except from APIs that list the partition itself: the
/// other APIs reported the formats of another partition.
void drop_formats(const Partition& partition, VideoDirection direction, Gpu& gpu) {
    for (auto& [api, view] : gpu.apis) {
        const auto* entries = fact(view.device, facts::kVideo);
        if (!entries || partition.indices.contains(api))
            continue;
        Value::Array others;
        std::ranges::copy_if(*entries, std::back_inserter(others), [direction](const Value& entry) {
            return entry.at("direction") != to_value(direction);
        });
        view.device["video"] = Value{std::move(others)};
    }
}

/// Records the directions for which a MIG instance has no video engine according to NVML: the
/// smallest instance of an A100 has no decoder.
void narrow_video(const Gpu& whole, const Partition& partition, Gpu& gpu) {
    const auto nvml = whole.apis.find("nvml");
    const auto* entries =
        nvml == whole.apis.end() ? nullptr : fact(nvml->second.device, facts::kMigDevices);
    if (!entries || !partition.uuid)
        return;
    const auto entry = std::ranges::find(*entries, Value{*partition.uuid},
                                         [](const Value& each) { return each.at("uuid"); });
    if (entry == entries->end())
        return;
    for (const auto& [engines, direction] : {std::pair{"decoders", VideoDirection::Decode},
                                             std::pair{"encoders", VideoDirection::Encode}}) {
        if (entry->at(engines) != Value{0})
            continue;
        if (std::ranges::find(gpu.lacks_video, direction) == gpu.lacks_video.end())
            gpu.lacks_video.push_back(direction);
        drop_formats(partition, direction, gpu);
    }
}

/// Returns a GPU that represents the partition.
Gpu gpu_of(const Gpu& whole, const Partition& partition) {
    auto gpu = whole;
    gpu.id = partition.id.value_or(whole.id + "/" + partition.name);
    gpu.name = with_part(whole.name, partition);
    gpu.title = with_part(whole.title, partition);
    gpu.nodes = nodes_of(whole, partition);
    gpu.primary = false;
    gpu.memory = memory_of(whole, partition);
    gpu.identity = identity_of(whole, partition);
    for (auto& [api, view] : gpu.apis)
        view = narrowed(view, partition, api);
    narrow_video(whole, partition, gpu);
    narrow_backends(whole, partition, gpu);
    gpu.partitions = {partition};
    gpu.partitions.front().id = gpu.id;
    return gpu;
}

/// The report with the usable partitions in place of each partitioned GPU.
Report divided(const Report& whole) {
    auto report = whole;
    report.gpus.clear();
    for (const auto& gpu : whole.gpus) {
        if (!is_divided(gpu)) {
            report.gpus.push_back(gpu);
            continue;
        }
        for (const auto& partition : gpu.partitions)
            if (is_usable(partition))
                report.gpus.push_back(gpu_of(gpu, partition));
    }
    return report;
}

}  // namespace

ComputeView::ComputeView(const Report& report) : whole_{&report} {
    // The GPUs in a view's report aren't replaced by partitions again.
    const auto is_one_to_divide = [](const Gpu& gpu) {
        return is_divided(gpu) && !partition_of(gpu);
    };
    if (std::ranges::any_of(report.gpus, is_one_to_divide))
        divided_ = divided(report);
}

const Partition* partition_of(const Gpu& gpu) {
    const bool is_partition = gpu.partitions.size() == 1 && gpu.partitions.front().id == gpu.id;
    return is_partition ? &gpu.partitions.front() : nullptr;
}

bool stands_alone(const Gpu& gpu) {
    const auto* partition = partition_of(gpu);
    return partition && is_mig(*partition);
}

bool is_listed_when_named(const ApiView& view) {
    return view.outcome != Outcome::Answered && has_reason(view.reasons, "one-instance-listed");
}

std::optional<std::string> key_by_address(const Gpu& gpu) {
    const auto has_address = gpu.pci && gpu.pci->address;
    return has_address ? std::optional{"pci:" + text_of(*gpu.pci->address)} : std::nullopt;
}

bool goes_by(const Gpu& gpu, std::string_view id) {
    return gpu.id == id || (partition_of(gpu) && whole_id(gpu.id) == id);
}

std::string_view whole_id(std::string_view id) {
    return id.substr(0, id.find('/'));
}

std::string plain_id(std::string_view word) {
    // The part before the slash may be a PCI address in any spelling; the part after it is a
    // partition's name.
    const auto whole = whole_id(word);
    const auto address = parse_text(whole, std::type_identity<PciAddress>{});
    const auto partition = lower_case(word.substr(whole.size()));
    return address ? "pci:" + text_of(*address) + partition : lower_case(word);
}

Result<std::string> known_id(const Report& report, std::string_view word) {
    const auto id = plain_id(word);
    for (const auto& gpu : report.gpus) {
        if (lower_case(gpu.id) == id)
            return gpu.id;
        if (const auto whole = whole_id(gpu.id); partition_of(gpu) && lower_case(whole) == id)
            return std::string{whole};
    }
    return Error{ErrorCode::UnknownDevice, scrubbed(word, 64) + ": no such GPU"};
}

Result<const Gpu*> known_gpu(const ComputeView& view, std::string_view word) {
    const auto id = TRY(known_id(view.report(), word));
    // The id may belong to a partitioned GPU, which is only in the original report.
    const auto* gpu = find_gpu(view.whole(), id);
    return gpu ? gpu : find_gpu(view.report(), id);
}

}  // namespace gpuprobe::inline report
