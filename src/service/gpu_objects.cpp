// SPDX-License-Identifier: Apache-2.0
#include "service/gpu_objects.h"

#include <algorithm>
#include <utility>

#include "report/compute_view.h"
#include "service/gpu_properties.h"
#include "wire/connection.h"

namespace gpuprobe::inline service {

namespace {

/// Whether the doctor's findings for this GPU have changed.
bool differ(const std::vector<Finding>& before,
            const std::vector<Finding>& after,
            const std::string& gpu) {
    const auto is_others = [&gpu](const Finding& finding) {
        return std::ranges::count(finding.gpus, gpu) == 0;
    };
    auto told = before;
    auto found = after;
    std::erase_if(told, is_others);
    std::erase_if(found, is_others);
    return told != found;
}

}  // namespace

const std::vector<Finding>& GpuObjects::findings() {
    if (!findings_)
        findings_ = examine(context_.engine.report(), {});
    return *findings_;
}

void GpuObjects::update() {
    const auto& gpus = context_.engine.report().gpus;
    const auto seen = open_to_all(context_.engine.report());
    const auto told = std::exchange(findings_, std::nullopt);
    // Remove GPUs that are not in the report any more, then update or add the others. Findings are
    // compared only if a client has read the old ones.
    std::erase_if(by_path_, [&gpus](const auto& entry) {
        return std::ranges::find(gpus, entry.second->id(), &Gpu::id) == gpus.end();
    });
    for (const auto& gpu : gpus) {
        const auto known = std::ranges::find_if(
            by_path_, [&gpu](const auto& entry) { return entry.second->id() == gpu.id; });
        if (known != by_path_.end())
            known->second->update(gpu, seen, told && differ(*told, findings(), gpu.id));
        else
            add(gpu, seen);
    }
}

void GpuObjects::add(const Gpu& gpu, const Report& open_to_all) {
    const auto path = free_path(gpu.id);
    auto object = std::make_unique<GpuObject>(
        connection_.bus(), path, gpu, open_to_all, [this] { return findings(); }, context_,
        access_);
    // Before the first message, no client can have a list of objects that would be outdated.
    if (connection_.has_read())
        object->announce();
    by_path_.emplace(path, std::move(object));
}

std::vector<sdbus::ObjectPath> GpuObjects::paths() const {
    std::vector<sdbus::ObjectPath> paths;
    for (const auto& gpu : context_.engine.report().gpus)
        paths.push_back(path_of(gpu.id));
    return paths;
}

sdbus::ObjectPath GpuObjects::path_of(const std::string& id) const {
    // A partition's id is the GPU's id with a suffix; partitions are not exported as objects.
    const auto whole = whole_id(id);
    const auto known = std::ranges::find_if(
        by_path_, [whole](const auto& entry) { return entry.second->id() == whole; });
    if (known == by_path_.end())
        return sdbus::ObjectPath{"/"};
    const bool is_unit = whole.size() < id.size();
    return sdbus::ObjectPath{is_unit ? unit_path(known->first, id.substr(whole.size() + 1))
                                     : known->first};
}

const Gpu* GpuObjects::at(const std::string& path) const {
    const auto known = by_path_.find(path);
    if (known == by_path_.end())
        return nullptr;
    const auto& gpus = context_.engine.report().gpus;
    const auto found = std::ranges::find(gpus, known->second->id(), &Gpu::id);
    return found == gpus.end() ? nullptr : &*found;
}

std::string GpuObjects::free_path(const std::string& id) const {
    std::string path = bus::kGpuPath + path_element(id);
    while (by_path_.contains(path))  // another id differs only in punctuation
        path += "_";
    return path;
}

}  // namespace gpuprobe::inline service
