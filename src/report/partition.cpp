// SPDX-License-Identifier: Apache-2.0
#include "report/partition.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"
#include "report/api_device.h"
#include "report/api_table.h"
#include "report/fact_key.h"
#include "report/gpu_views.h"
#include "report/identity.h"
#include "report/memory.h"
#include "report/report.h"

namespace gpuprobe::inline report {
namespace {

constexpr std::size_t kMaxPartitions = 64;

/// An instance's UUID: "MIG-" and a UUID. Drivers before 470 wrote "MIG-GPU-<uuid of the GPU>/3/0".
std::optional<std::string> instance_uuid(const Value& entry) {
    constexpr std::string_view kPrefix = "MIG-";
    const auto* text = entry.at("uuid").as_string();
    if (!text || !text->starts_with(kPrefix))
        return std::nullopt;
    const auto uuid = text->substr(kPrefix.size(), text->find('/') - kPrefix.size());
    return uuid_digits(uuid) ? std::optional{*text} : std::nullopt;
}

std::optional<Bytes> size_at(const Value& memory, std::string_view key) {
    const auto bytes = memory.at(key).as_unsigned();
    return bytes && *bytes <= kMaxGpuMemory.count ? std::optional{Bytes{*bytes}} : std::nullopt;
}

/// Total and free memory of an instance. Uses `memory_size` if `memory` has no total, and drops a
/// free size above the total.
std::optional<FactMemory> instance_memory(const Value& entry) {
    const auto& memory = entry.at("memory");
    auto total = size_at(memory, "total");
    if (!total || total->count == 0)
        total = size_at(entry, "memory_size");
    if (!total || total->count == 0)
        return std::nullopt;
    auto free = size_at(memory, "free");
    if (free && *free > *total)
        free.reset();
    return FactMemory{.total = total, .free = free};
}

/// A number from NVML. A number above 65535 is invalid, because no GPU has so many parts of any
/// kind.
std::optional<std::uint32_t> number_at(const Value& entry, std::string_view key) {
    constexpr std::uint64_t kMost = 65535;
    const auto number = entry.at(key).as_unsigned();
    return number && *number <= kMost ? std::optional{static_cast<std::uint32_t>(*number)}
                                      : std::nullopt;
}

Partition mig_instance(const Value& entry, std::size_t place, std::optional<Bytes> of_gpu) {
    Partition partition{.gpu_instance = number_at(entry, "gpu_instance"),
                        .compute_instance = number_at(entry, "compute_instance"),
                        .gpu_slices = number_at(entry, "gpu_slices"),
                        .compute_slices = number_at(entry, "compute_slices"),
                        .multiprocessors = number_at(entry, "multiprocessors"),
                        .uuid = instance_uuid(entry),
                        .memory = instance_memory(entry)};
    // NVML has a slot for an instance before it reports the instance's numbers.
    partition.name = partition.gpu_instance
                         ? mig_name(*partition.gpu_instance, partition.compute_instance)
                         : "mig-slot" + std::to_string(number_at(entry, "index").value_or(place));
    const auto* name = entry.at("name").as_string();
    partition.profile = mig_profile(name ? *name : "", partition, of_gpu);
    return partition;
}

/// Adds the device nodes that the kernel has for the MIG instance.
void add_kernels_nodes(const Subject& subject, Partition& partition) {
    if (!subject.hardware || !partition.gpu_instance)
        return;
    for (const auto& part : subject.hardware->partitions)
        if (part.gpu_instance == partition.gpu_instance &&
            part.compute_instance == partition.compute_instance)
            partition.nodes = part.nodes;
}

/// The MIG instances that NVML lists; empty without NVML.
std::vector<Partition> mig_instances(const Subject& subject) {
    std::vector<Partition> partitions;
    const auto* claim = preferred_claim(subject, "nvml");
    const auto* entries = claim ? fact(*claim->device.facts, facts::kMigDevices) : nullptr;
    if (!entries)
        return partitions;
    const auto& memory = claim->device.facts->memory;
    for (std::size_t i = 0; i < std::min(entries->size(), kMaxPartitions); ++i) {
        partitions.push_back(mig_instance((*entries)[i], i, memory ? memory->total : std::nullopt));
        add_kernels_nodes(subject, partitions.back());
    }
    return partitions;
}

/// An XCP's profile, such as "cpx_nps1", as ROCm's Kubernetes plugin names it. Source:
/// ROCm/k8s-device-plugin @ ed764684, internal/pkg/amdgpu/amdgpu.go.
std::optional<std::string> xcp_profile(const HardwareDevice& hardware) {
    const auto compute = fact(hardware, kernel_facts::kComputePartition);
    const auto memory = fact(hardware, kernel_facts::kMemoryPartition);
    return compute && memory ? std::optional{*compute + "_" + *memory} : compute;
}

/// The partitions that the kernel lists.
std::vector<Partition> kernels_partitions(const HardwareDevice& hardware) {
    std::vector<Partition> partitions;
    for (const auto& part : hardware.partitions) {
        Partition partition{.name = part.name,
                            .gpu_instance = part.gpu_instance,
                            .compute_instance = part.compute_instance,
                            .node = part.node,
                            .nodes = part.nodes,
                            .kfd_node = part.kfd_node,
                            .state = part.state};
        if (part.kfd_node)
            partition.profile = xcp_profile(hardware);
        if (part.uuid)
            partition.uuid = "GPU-" + *part.uuid;
        if (part.memory)
            partition.memory = FactMemory{.total = part.memory};
        partitions.push_back(std::move(partition));
    }
    return partitions;
}

/// The UUID's digits without "MIG-" or "GPU-" in front.
std::optional<std::string> bare_uuid(const std::optional<std::string>& uuid) {
    if (!uuid)
        return std::nullopt;
    const auto is_mig = uuid->starts_with("MIG-") && !uuid->starts_with("MIG-GPU-");
    return is_mig ? uuid_digits(uuid->substr(4)) : uuid_digits(*uuid);
}

/// Whether the API's device identifies itself as this partition: by KFD node, render node or UUID.
bool names(const ApiDevice& device, const Partition& partition) {
    const auto& facts = *device.facts;
    if (partition.kfd_node && fact(facts, facts::kKfdNode) == *partition.kfd_node)
        return true;
    if (partition.node && facts.drm && facts.drm->render)
        return *partition.node ==
               "/dev/dri/renderD" + facts.drm->render->substr(facts.drm->render->find(':') + 1);
    const auto own = bare_uuid(partition.uuid);
    return own && own == bare_uuid(facts.uuid);
}

using Claims = std::vector<const Claim*>;

/// The devices that the API's preferred driver lists on this GPU, in the driver's order.
Claims listed_claims(const Subject& subject, std::string_view api) {
    Claims claims;
    const auto* best = preferred_claim(subject, api);
    for (const auto& claim : subject.claims)
        if (best && claim.device.probe == best->device.probe && claim.device.facts->index)
            claims.push_back(&claim);
    std::ranges::stable_sort(claims, {},
                             [](const Claim* claim) { return *claim->device.facts->index; });
    return claims;
}

/// Whether the device is a whole GPU, not a MIG instance, as NVIDIA's UUIDs of GPUs show.
bool is_whole(const Claim& claim, const Partition& partition) {
    const auto& uuid = claim.device.facts->uuid;
    return partition.name.starts_with("mig-") && uuid && uuid->starts_with("GPU-");
}

/// Records that the API's device is this partition, and fills in values that are still missing.
void take(const Claim& claim, Partition& partition) {
    const auto& device = claim.device;
    partition.indices[device.probe->api] = *device.facts->index;
    if (!partition.uuid && device.uuid && device.probe->api == info_of(Api::Hip).word)
        partition.uuid = device.facts->uuid;
    const auto& own_uuid = device.facts->uuid;
    if (!partition.uuid && own_uuid && own_uuid->starts_with("MIG-"))
        partition.uuid = own_uuid;
    if (!partition.profile && partition.gpu_instance)
        partition.profile = mig_profile(device.facts->name.value_or(""), partition, std::nullopt);
    const auto memory = device.facts->memory.value_or(FactMemory{});
    const auto& total = memory.total;
    if (!partition.memory && total && total->count > 0 && *total <= kMaxGpuMemory)
        partition.memory = FactMemory{.total = total};
    if (partition.memory && partition.memory->total && !partition.memory->free && memory.free &&
        *memory.free <= *partition.memory->total)
        partition.memory->free = memory.free;
}

/// Assigns each device to the partition that it identifies. If no device identifies a partition,
/// assigns the devices to the partitions in order: ROCm uses KFD's order, and CUDA shows only the
/// first compute instance. Source: NVIDIA MIG User Guide, "CUDA Device Enumeration".
void add_places(const Claims& claims, std::vector<Partition*>& partitions) {
    std::set<const Partition*> taken;
    Claims left;
    for (const auto* claim : claims) {
        const auto partition = std::ranges::find_if(partitions, [&](const Partition* one) {
            return !taken.contains(one) && names(claim->device, *one);
        });
        if (partition == partitions.end()) {
            left.push_back(claim);
            continue;
        }
        taken.insert(*partition);
        take(*claim, **partition);
    }
    // If some devices identify their partitions, assign the other devices by order only if each
    // partition has a device.
    if (!taken.empty() && claims.size() != partitions.size())
        return;
    auto next = left.begin();
    for (auto* partition : partitions)
        if (!taken.contains(partition) && next != left.end() && !is_whole(**next, *partition))
            take(**next++, *partition);
}

/// Adds the index of each usable partition, for every API that compute programs use.
void add_places(const Subject& subject, std::vector<Partition>& partitions) {
    std::vector<Partition*> usable;
    for (auto& partition : partitions)
        if (is_usable(partition))
            usable.push_back(&partition);
    std::set<std::string> apis;
    for (const auto& claim : subject.claims)
        if (computes(claim.device.probe->api))
            apis.insert(claim.device.probe->api);
    for (const auto& api : apis)
        add_places(listed_claims(subject, api), usable);
}

/// Name prefix of partitions that only an API lists: "xcp-", "tile-" or "part-".
std::string part_name(const Subject& subject) {
    const auto* api = own_api_of(vendor_of(subject).value_or(""));
    return std::string{api && !api->parts.empty() ? api->parts : "part"} + "-";
}

/// The partitions that one driver implies by listing several distinct devices at the GPU's address:
/// partitions that the kernel does not show, or tiles. Source for tiles: the flat hierarchy of
/// Intel's driver.
std::vector<Partition> listed_partitions(const Subject& subject, std::string_view api) {
    const auto claims = listed_claims(subject, api);
    std::set<std::string> uuids;
    std::size_t with_uuid = 0;
    for (const auto* claim : claims) {
        const auto& uuid = claim->device.facts->uuid;
        // The keys "weak" and "uuid" do not prove that the devices are at the GPU's address.
        if (claim->joined_by == "weak" || claim->joined_by == "uuid")
            return {};
        with_uuid += uuid ? 1 : 0;
        if (uuid)
            uuids.insert(*uuid);
    }
    // A repeated UUID means that one device is listed twice.
    if (claims.size() < 2 || uuids.size() != with_uuid)
        return {};
    std::vector<Partition> partitions;
    for (std::size_t i = 0; i < std::min(claims.size(), kMaxPartitions); ++i)
        partitions.push_back({.name = part_name(subject) + std::to_string(i)});
    return partitions;
}

std::vector<Partition> listed_partitions(const Subject& subject) {
    for (const auto* api : computing_apis())
        if (auto partitions = listed_partitions(subject, api->word); !partitions.empty())
            return partitions;
    return {};
}

/// The partitions without their indices in APIs.
std::vector<Partition> known_partitions(const Subject& subject) {
    auto partitions = mig_instances(subject);
    if (partitions.empty() && subject.hardware)
        partitions = kernels_partitions(*subject.hardware);
    return partitions.empty() ? listed_partitions(subject) : partitions;
}

}  // namespace

bool is_usable(const Partition& partition) {
    return !partition.state;
}

bool is_divided(const Gpu& gpu) {
    return std::ranges::any_of(gpu.partitions, is_usable);
}

bool is_divided(const Subject& subject) {
    return std::ranges::any_of(known_partitions(subject), is_usable);
}

std::string mig_name(std::uint32_t gpu_instance, std::optional<std::uint32_t> compute_instance) {
    const auto name = "mig-" + std::to_string(gpu_instance);
    const auto place = compute_instance.value_or(0);
    return place == 0 ? name : name + "." + std::to_string(place);
}

std::optional<std::string> mig_profile(const std::string& name,
                                       const Partition& partition,
                                       std::optional<Bytes> of_gpu) {
    // Use the profile at the end of NVML's or CUDA's name for the instance, if there is one.
    constexpr std::string_view kMark = " MIG ";
    if (const auto at = name.rfind(kMark); at != std::string::npos) {
        const auto tail = name.substr(at + kMark.size());
        const auto is_profile =
            tail.find_first_not_of("0123456789.+-,abcdefghijklmnopqrstuvwxyz") == std::string::npos;
        if (is_profile && tail.find("g.") != std::string::npos && tail.size() <= 64)
            return tail;
    }
    // Otherwise compute the profile: the share of the GPU's memory, rounded up to eighths, times
    // the size of the GPU in whole GiB.
    if (!partition.gpu_slices || !partition.memory || !partition.memory->total || !of_gpu)
        return std::nullopt;
    const auto size = *partition.memory->total;
    if (of_gpu->count == 0 || size > *of_gpu)
        return std::nullopt;
    const auto eighths =
        std::ceil(static_cast<double>(size.count) * 8 / static_cast<double>(of_gpu->count));
    const auto whole =
        std::ceil(static_cast<double>(of_gpu->count) / static_cast<double>(gib(1).count));
    const auto of_it = std::to_string(*partition.gpu_slices) + "g." +
                       std::to_string(std::lround(eighths / 8 * whole)) + "gb";
    const bool is_part =
        partition.compute_slices && *partition.compute_slices < *partition.gpu_slices;
    return is_part ? std::to_string(*partition.compute_slices) + "c." + of_it : of_it;
}

std::vector<Partition> partitions_of(const Subject& subject) {
    auto partitions = known_partitions(subject);
    std::set<std::string> names;
    // A driver may list an instance twice; keep the first entry.
    std::erase_if(partitions, [&names](const Partition& partition) {
        return !names.insert(partition.name).second;
    });
    for (auto& partition : partitions)
        partition.id = subject.id + "/" + partition.name;
    add_places(subject, partitions);
    return partitions;
}

}  // namespace gpuprobe::inline report
