// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "report/fact_key.h"
#include "unit/properties/recorded.h"

namespace gpuprobe::testing_properties {

using Group = std::vector<Part>;  ///< parts that belong together: a GPU and its virtual functions

/// The addresses, device nodes, KFD node numbers and UUIDs that are in use on a machine while the
/// machine is assembled.
class Places {
public:
    /// Moves the group to unused addresses. Returns false if the group cannot be distinguished from
    /// existing parts.
    bool settle(Group& group);

private:
    using Renamed = std::map<std::string, std::string>;
    void place(Group& group);
    void rename(std::string& path, Renamed& renamed);
    void rename_number(std::optional<std::string>& number, Renamed& renamed);
    void rename(Part& part, Renamed& renamed);
    void rename_partitions(HardwareDevice& hardware, Renamed& renamed);
    [[nodiscard]] bool has_uuids_of_its_own(const Group& group) const;
    void take_uuids(const Group& group);

    std::set<std::string> places_ = {};
    std::set<std::string> uuids_ = {};
    std::set<std::string> nodes_ = {};
    std::uint64_t next_kfd_node_ = 0;
};

/// Calls `use` with each PCI address in the part.
template <class Use>
void for_each_address(Part& part, const Use& use) {
    if (part.hardware && part.hardware->pci)
        use(*part.hardware->pci);
    for (auto& record : part.records)
        if (record.facts.pci)
            use(*record.facts.pci);
}

inline std::optional<std::string> place_of(const Part& part) {
    if (part.hardware)
        return part.hardware->id;
    for (const auto& record : part.records)
        if (record.facts.pci)
            return "pci:" + text_of(*record.facts.pci);
    return std::nullopt;
}

/// Shifts the bus in a name that ends in an address: "pci:0000:85:00.0" or "vf-0000:85:02.0".
inline void move(std::string& name, unsigned shift) {
    const auto prefix = name.starts_with("pci:") ? 4U : name.starts_with("vf-") ? 3U : 0U;
    auto address = parse_text(name.substr(prefix), std::type_identity<PciAddress>{});
    if (prefix == 0 || !address)
        return;
    address->bus = static_cast<std::uint8_t>(address->bus + shift);
    name.replace(prefix, std::string::npos, text_of(*address));
}

/// Changes only the bus, because device and function show how the parts belong together.
inline void Places::place(Group& group) {
    const auto is_free = [&](unsigned shift) {
        return std::ranges::none_of(group, [&](Part part) {
            bool is_taken = false;
            for_each_address(part, [&](PciAddress address) {
                address.bus = static_cast<std::uint8_t>(address.bus + shift);
                is_taken = is_taken || places_.contains("pci:" + text_of(address));
            });
            return is_taken;
        });
    };
    unsigned shift = 0;
    while (shift < 255 && !is_free(shift))
        ++shift;
    for (auto& part : group) {
        for_each_address(part, [shift](PciAddress& address) {
            address.bus = static_cast<std::uint8_t>(address.bus + shift);
        });
        if (part.hardware && part.hardware->pci)
            part.hardware->id = "pci:" + text_of(*part.hardware->pci);
        if (part.hardware && part.hardware->physical_function)
            move(*part.hardware->physical_function, shift);
        if (part.hardware)
            for (auto& partition : part.hardware->partitions)
                move(partition.name, shift);
        if (const auto own = place_of(part))
            places_.insert(*own);
    }
}

/// Gives an unused number to a node whose name ends in a number.
inline void Places::rename(std::string& path, Renamed& renamed) {
    const auto known = renamed.find(path);
    if (known != renamed.end()) {
        path = known->second;
        return;
    }
    const auto prefix = path.substr(0, path.find_last_not_of("0123456789") + 1);
    const auto number = parse_number<std::uint64_t>(path.substr(prefix.size()));
    auto name = path;
    for (auto next = number.value_or(0); number && !nodes_.insert(name).second;)
        name = prefix + std::to_string(++next);
    renamed.emplace(path, name);
    path = name;
}

/// Renames a DRM device: "226:128" means /dev/dri/renderD128, "226:1" means /dev/dri/card1.
inline void Places::rename_number(std::optional<std::string>& number, Renamed& renamed) {
    constexpr std::string_view kDrm = "226:";
    if (!number || !number->starts_with(kDrm))
        return;
    const auto minor = parse_number<unsigned>(number->substr(kDrm.size()));
    if (!minor)
        return;
    const std::string prefix = *minor < 128 ? "/dev/dri/card" : "/dev/dri/renderD";
    auto path = prefix + std::to_string(*minor);
    rename(path, renamed);
    number = std::string{kDrm} + path.substr(prefix.size());
}

inline void Places::rename_partitions(HardwareDevice& hardware, Renamed& renamed) {
    for (auto& partition : hardware.partitions) {
        if (partition.node)
            rename(*partition.node, renamed);
        for (auto& node : partition.nodes)
            rename(node, renamed);
        if (partition.kfd_node)
            partition.kfd_node = *partition.kfd_node + static_cast<std::uint32_t>(next_kfd_node_);
    }
}

inline void Places::rename(Part& part, Renamed& renamed) {
    const auto add_kfd = [this](Value& extra) {
        if (const auto node = extra.at("kfd_node").as_unsigned())
            extra["kfd_node"] = *node + next_kfd_node_;
    };
    if (part.hardware) {
        rename_number(part.hardware->drm.primary, renamed);
        rename_number(part.hardware->drm.render, renamed);
        for (auto& node : part.hardware->nodes) {
            rename(node.path, renamed);
            rename_number(node.device, renamed);
        }
        rename_partitions(*part.hardware, renamed);
        add_kfd(part.hardware->extra);
    }
    for (auto& record : part.records) {
        if (record.facts.drm) {
            rename_number(record.facts.drm->primary, renamed);
            rename_number(record.facts.drm->render, renamed);
        }
        add_kfd(record.facts.extra);
    }
}

inline bool Places::has_uuids_of_its_own(const Group& group) const {
    return std::ranges::none_of(group, [this](const Part& part) {
        const bool is_known =
            part.hardware && part.hardware->uuid && uuids_.contains(*part.hardware->uuid);
        return is_known || std::ranges::any_of(part.records, [this](const ApiRecord& record) {
                   return record.facts.uuid && uuids_.contains(*record.facts.uuid);
               });
    });
}

inline void Places::take_uuids(const Group& group) {
    for (const auto& part : group) {
        if (part.hardware && part.hardware->uuid)
            uuids_.insert(*part.hardware->uuid);
        for (const auto& record : part.records)
            if (record.facts.uuid)
                uuids_.insert(*record.facts.uuid);
    }
}

inline bool Places::settle(Group& group) {
    const bool is_platforms_twin = std::ranges::any_of(group, [this](const Part& part) {
        return part.hardware && !part.hardware->pci && places_.contains(part.hardware->id);
    });
    if (is_platforms_twin || !has_uuids_of_its_own(group))
        return false;
    place(group);
    take_uuids(group);
    Renamed renamed;
    for (auto& part : group)
        rename(part, renamed);
    constexpr std::uint64_t kKfdNodesOfAMachine = 128;
    next_kfd_node_ += kKfdNodesOfAMachine;
    return true;
}

}  // namespace gpuprobe::testing_properties
