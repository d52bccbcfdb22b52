// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/access.h"
#include "report/api_table.h"
#include "unit/properties/alterations.h"

/// Machines that are combined from parts of recorded machines. The seed determines the machine.
namespace gpuprobe::testing_properties {

/// The failure that replaces the answer of an API on a mixed machine.
enum class Mishap { NotAsked, Absent, Crashed, TimedOut, Failed, Asleep };

/// The description of a machine before it is assembled, so that a single item can be changed.
struct Recipe {
    std::string story = {};  ///< a description that helps to find the cause of a failure
    Host host = {};
    std::vector<Part> parts = {};  ///< no two parts share an address, a node or a UUID
    std::vector<DeviceNode> shared_nodes = {};
    std::vector<ProbeResult> empty = {};  ///< queries that found nothing
    std::vector<ApiRecord> software = {};
    std::map<std::string, Mishap> mishaps = {};  ///< by API
    std::optional<Caller> caller = {};           ///< nullopt: the process that probes
    std::optional<std::uint64_t> scores = {};    ///< a seed; nullopt: no measurements
    /// A seed that selects the applications and manifests for the test; nullopt: all.
    std::optional<std::uint64_t> sample = {};
};

/// The host of a recorded machine. Facts that its source lacks are filled in.
inline Host any_host(Dice& dice, std::string& story) {
    const auto& donor = dice.any_of(recorded_machines());
    story += " host of " + donor.name;
    auto host = donor.machine.host;
    constexpr std::array kGlibc =
        std::to_array<const char*>({"2.17", "2.28", "2.31", "2.35", "2.36", "2.39", "2.41"});
    constexpr std::array kLevels =
        std::to_array<const char*>({"x86-64-v1", "x86-64-v2", "x86-64-v3", "x86-64-v4"});
    constexpr std::array kLibraries = std::to_array<const char*>(
        {"libcudart.so.12", "libcudart.so.13", "libcublas.so.12", "libimf.so", "libintlc.so.5",
         "libsvml.so", "libsycl.so.8", "libgomp.so.1", "libssl.so.3", "libvulkan.so.1"});
    if (!host.arch && !dice.once_in(8))
        host.arch = "x86_64";
    if (!host.libc.name && !dice.once_in(8))
        host.libc = {.name = dice.once_in(10) ? "musl" : "glibc", .version = dice.any_of(kGlibc)};
    if (!host.cpu.level && host.arch == "x86_64" && !dice.once_in(8))
        host.cpu.level = dice.any_of(kLevels);
    if (!host.memory.total && !dice.once_in(8))
        host.memory = {.total = gib(8U << dice.below(6)), .available = gib(6U << dice.below(6))};
    if (dice.once_in(2)) {
        host.libraries.emplace();
        for (const auto* library : kLibraries)
            if (dice.once_in(2))
                host.libraries->emplace_back(library);
        std::ranges::sort(*host.libraries);
    }
    if (dice.once_in(5))
        host.container = host.container ? std::nullopt : std::optional<std::string>{"docker"};
    return host;
}

inline DeviceNode with_mode(DeviceNode node, Dice& dice) {
    const bool is_nvidias = node.path.starts_with("/dev/nvidia");
    const bool is_card = node.path.starts_with("/dev/dri/card");
    node.uid = 0;
    node.gid = is_nvidias ? 0U : is_card ? 44U : 992U;
    node.group = is_nvidias ? "root" : is_card ? "video" : "render";
    node.mode = is_nvidias && !dice.once_in(6) ? 0666U : dice.once_in(8) ? 0600U : 0660U;
    node.acl.clear();
    node.accessible = true;
    node.reason.reset();
    return node;
}

/// Sets the modes and groups of nodes as udev does, closes some nodes, and adds a caller.
inline void set_permissions(Recipe& recipe, Dice& dice) {
    constexpr std::uint32_t kSomebody = 1000;
    for (auto& node : recipe.shared_nodes)
        node = with_mode(std::move(node), dice);
    for (auto& part : recipe.parts)
        if (part.hardware)
            for (auto& node : part.hardware->nodes)
                if (node.reason != "missing")
                    node = with_mode(std::move(node), dice);
    recipe.caller = Caller{.uid = kSomebody, .groups = std::vector{kSomebody}};
    if (dice.once_in(2))
        recipe.caller->groups->push_back(992);
    if (dice.once_in(3))
        recipe.caller->groups->push_back(44);
    if (dice.once_in(8))
        recipe.caller->groups.reset();
    if (dice.once_in(8))
        recipe.caller = Caller{.uid = 0};
    recipe.story += ", modes as udev sets them";
}

inline void add_shared_nodes(const Recorded& donor, std::vector<DeviceNode>& nodes) {
    for (const auto& node : donor.machine.shared_nodes)
        if (std::ranges::find(nodes, node.path, &DeviceNode::path) == nodes.end())
            nodes.push_back(node);
}

inline const Recorded& machine_of(const Part& part) {
    return *std::ranges::find(recorded_machines(), part.machine, &Recorded::name);
}

/// Returns false if the group cannot be distinguished from parts that already exist.
inline bool add_group(Recipe& recipe, Places& places, Group group) {
    if (!places.settle(group))
        return false;
    for (auto& part : group) {
        add_shared_nodes(machine_of(part), recipe.shared_nodes);
        recipe.parts.push_back(std::move(part));
    }
    return true;
}

/// Adds cards of any recorded machines, some of them several times.
inline void add_cards(Recipe& recipe, Places& places, Dice& dice) {
    for (auto count = dice.below(5); count > 0; --count) {
        Group group{*dice.any_of(visible_parts())};
        const auto card = group.front();
        alter(group.front(), dice);
        const bool has_twins = dice.once_in(10);
        (void)add_group(recipe, places, std::move(group));
        for (auto number = has_twins ? 1 + dice.below(3) : 0; number > 0; --number)
            (void)add_group(recipe, places, {twin(card, static_cast<unsigned>(number))});
    }
}

/// If the kernel shows no card, use cards from only one machine, because drivers report too little
/// to distinguish cards from several machines.
inline void add_hidden(Recipe& recipe, Places& places, Dice& dice) {
    const auto& machine = dice.any_of(hidden_parts())->machine;
    for (const auto* part : hidden_parts())
        if (part->machine == machine)
            (void)add_group(recipe, places, {*part});  // a part that does not fit is left out
}

inline void add_parts(Recipe& recipe, Dice& dice) {
    Places places;
    if (dice.once_in(8))
        return add_hidden(recipe, places, dice);
    if (dice.once_in(8)) {
        const auto& family = dice.any_of(families());
        const auto is_wsl = machine_of(family.front()).machine.host.wsl;
        (void)add_group(recipe, places, family);
        if (is_wsl) {
            recipe.host.wsl = true;
            return;
        }
    }
    add_cards(recipe, places, dice);
    if (dice.once_in(20))
        for (auto& part : recipe.parts)
            if (!part.records.empty()) {
                part.hardware.reset();
                part.story += ", hidden by a container";
            }
}

/// An API has only one driver on a machine, and the driver reports the same facts about itself for
/// each card.
inline void agree_on_drivers(Recipe& recipe) {
    std::map<std::pair<std::string, std::string>, ProbeResult> drivers;
    for (auto& part : recipe.parts)
        for (auto& record : part.records)
            record.probe =
                drivers.try_emplace({record.probe.api, record.probe.driver}, record.probe)
                    .first->second;
}

/// Adds the results of drivers without devices from one machine, and software devices from another.
inline void add_software(Recipe& recipe, Dice& dice) {
    const auto& donor = dice.any_of(recorded_machines());
    recipe.empty = donor.empty;
    const auto& renderers = dice.any_of(recorded_machines());
    recipe.software = renderers.software;
    recipe.story += ", software of " + donor.name + " and " + renderers.name;
}

inline void add_mishaps(Recipe& recipe, Dice& dice) {
    constexpr std::array kMishaps =
        std::to_array({Mishap::NotAsked, Mishap::Absent, Mishap::Crashed, Mishap::TimedOut,
                       Mishap::Failed, Mishap::Asleep});
    for (const auto& api : kApis)
        if (dice.once_in(8)) {
            recipe.mishaps.emplace(api.word, dice.any_of(kMishaps));
            recipe.story += ", mishap with " + std::string{api.word};
        }
}

/// The machine for the given seed.
inline Recipe mixed(std::uint64_t seed) {
    Dice dice{seed};
    Recipe recipe{.story = "GPUPROBE_PROPERTY_SEED=" + std::to_string(seed) + ":", .sample = seed};
    recipe.host = any_host(dice, recipe.story);
    add_parts(recipe, dice);
    agree_on_drivers(recipe);
    add_software(recipe, dice);
    add_mishaps(recipe, dice);
    if (!dice.once_in(3))
        set_permissions(recipe, dice);
    if (dice.once_in(4))
        recipe.scores = seed;
    return recipe;
}

}  // namespace gpuprobe::testing_properties
