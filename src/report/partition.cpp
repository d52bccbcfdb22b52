// SPDX-License-Identifier: Apache-2.0
#include "report/partition.h"

#include <algorithm>

#include "report/api_view.h"
#include "report/fact_key.h"
#include "report/memory.h"
#include "report/uuid.h"

namespace gpuprobe {
namespace {

constexpr std::size_t kMaxPartitions = 64;

/// "MIG-" and a UUID; drivers before 470 wrote "MIG-GPU-<uuid of the GPU>/3/0".
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

std::optional<FactMemory> instance_memory(const Value& entry) {
    const auto& memory = entry.at("memory");
    auto total = size_at(memory, "total");
    if (!total || total->count == 0)
        return std::nullopt;
    auto free = size_at(memory, "free");
    if (free && *free > *total)
        free.reset();
    return FactMemory{.total = total, .free = free};
}

std::string instance_name(const Value& entry, std::size_t place) {
    if (const auto* name = entry.at("name").as_string(); name && !name->empty())
        return *name;
    return "mig:" + std::to_string(entry.at("index").as_unsigned().value_or(place));
}

std::vector<Partition> mig_instances(const Subject& subject) {
    std::vector<Partition> instances;
    const auto* claim = preferred_claim(subject, "nvml");
    const auto* entries = claim ? fact(*claim->device.facts, facts::kMigDevices) : nullptr;
    for (std::size_t i = 0; entries && i < std::min(entries->size(), kMaxPartitions); ++i) {
        const auto& entry = (*entries)[i];
        instances.push_back(Partition{.name = instance_name(entry, i),
                                      .uuid = instance_uuid(entry),
                                      .memory = instance_memory(entry)});
    }
    return instances;
}

}  // namespace

bool is_divided(const Gpu& gpu) {
    return std::ranges::any_of(
        gpu.partitions, [](const Value& partition) { return partition.at("state").is_null(); });
}

std::vector<Partition> partitions_of(const Subject& subject) {
    auto partitions = mig_instances(subject);
    if (!partitions.empty() || !subject.hardware)
        return partitions;
    for (const auto& part : subject.hardware->partitions) {
        Partition partition{
            .name = part.name, .node = part.node, .kfd_node = part.kfd_node, .state = part.state};
        if (part.memory)
            partition.memory = FactMemory{.total = part.memory};
        partitions.push_back(std::move(partition));
    }
    return partitions;
}

}  // namespace gpuprobe
