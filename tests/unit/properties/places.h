// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "unit/properties/recorded.h"

namespace gpuprobe::testing_properties {

/// Places that are taken on a machine in the making.
class Places {
public:
    /// False when the part can't be told from one that is there already.
    bool settle(Part& part);

private:
    static std::optional<PciAddress> place_of(const Part& part);
    static void move(Part& part, const PciAddress& from, const PciAddress& to);
    void renumber(Part& part);
    bool has_uuids_of_its_own(const Part& part) const;

    std::set<std::string> places_ = {};
    std::set<std::string> uuids_ = {};
    unsigned next_node_ = 0;
};

inline std::optional<PciAddress> Places::place_of(const Part& part) {
    if (part.hardware)
        return part.hardware->pci;
    for (const auto& told : part.told)
        if (told.facts.pci)
            return told.facts.pci;
    return std::nullopt;
}

inline void Places::move(Part& part, const PciAddress& from, const PciAddress& to) {
    if (part.hardware) {
        part.hardware->pci = to;
        part.hardware->id = "pci:" + text_of(to);
        part.hardware->physical_function.reset();
    }
    for (auto& told : part.told)
        if (told.facts.pci == from)
            told.facts.pci = to;
}

/// A number of its own for each DRM node and for NVIDIA's, in hardware and facts.
inline void Places::renumber(Part& part) {
    const auto number = std::to_string(next_node_);
    const auto render = std::to_string(128 + next_node_);
    ++next_node_;
    std::map<std::string, std::string> drm;
    const auto rename = [&](std::optional<std::string>& node, const std::string& to) {
        if (node)
            node = drm.try_emplace(*node, "226:" + to).first->second;
    };
    if (part.hardware) {
        rename(part.hardware->drm.primary, number);
        rename(part.hardware->drm.render, render);
        for (auto& node : part.hardware->nodes) {
            if (node.path.starts_with("/dev/dri/card"))
                node.path = "/dev/dri/card" + number;
            else if (node.path.starts_with("/dev/dri/renderD"))
                node.path = "/dev/dri/renderD" + render;
            else if (node.path.starts_with("/dev/nvidia"))
                node.path = "/dev/nvidia" + number;
            if (node.device && drm.contains(*node.device))
                node.device = drm.at(*node.device);
        }
    }
    for (auto& told : part.told)
        if (told.facts.drm) {
            rename(told.facts.drm->primary, number);
            rename(told.facts.drm->render, render);
        }
}

inline bool Places::has_uuids_of_its_own(const Part& part) const {
    if (part.hardware && part.hardware->uuid && uuids_.contains(*part.hardware->uuid))
        return false;
    return std::ranges::none_of(part.told, [this](const Told& told) {
        return told.facts.uuid && uuids_.contains(*told.facts.uuid);
    });
}

inline bool Places::settle(Part& part) {
    if (!has_uuids_of_its_own(part))
        return false;
    const auto from = place_of(part);
    if (!from && part.hardware && !places_.insert(part.hardware->id).second)
        return false;
    if (from) {
        auto to = *from;
        while (!places_.insert(text_of(to)).second)
            to = {.domain = to.domain, .bus = static_cast<std::uint8_t>(to.bus + 1)};
        if (to != *from)
            move(part, *from, to);
    }
    for (const auto& told : part.told)
        if (told.facts.uuid)
            uuids_.insert(*told.facts.uuid);
    if (part.hardware && part.hardware->uuid)
        uuids_.insert(*part.hardware->uuid);
    renumber(part);
    return true;
}

}  // namespace gpuprobe::testing_properties
