// SPDX-License-Identifier: Apache-2.0
#include "cli/report_changes.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "explain/phrase.h"
#include "explain/report_text.h"

namespace gpuprobe::inline cli {
namespace {

const Gpu* gpu_of(const Report& report, const std::string& id) {
    const auto found = std::find_if(report.gpus.begin(), report.gpus.end(),
                                    [&id](const Gpu& gpu) { return gpu.id == id; });
    return found == report.gpus.end() ? nullptr : &*found;
}

/// The GPU without members that change all the time.
Value lasting(Gpu gpu) {
    gpu.memory.free.reset();
    gpu.memory.free_at.reset();
    gpu.memory.evidence.clear();
    for (auto& [api, view] : gpu.apis) {
        view.age.reset();
        if (auto* memory = view.device.find("memory"); memory && memory->is_object())
            (*memory)["free"] = Value{};
    }
    return to_value(gpu);
}

/// The names of the members that differ, apart from those.
std::vector<std::string> differing_members(const Gpu& before, const Gpu& after) {
    const auto left = lasting(before);
    const auto right = lasting(after);
    std::vector<std::string> keys;
    for (const auto& member : *right.as_object())
        if (left.at(member.key) != member.value)
            keys.push_back(member.key);
    return keys;
}

/// A change of the report as a whole.
Change change_of(std::string event, const Report& after) {
    return {.event = std::move(event),
            .state = std::string{name_of(after.state)},
            .generation = after.generation};
}

Change gpu_change(std::string event, const Gpu& gpu, const Report& after) {
    auto change = change_of(std::move(event), after);
    change.gpu = gpu.id;
    change.name = gpu_title(gpu);
    return change;
}

}  // namespace

std::vector<Change> changes_between(const Report& before, const Report& after) {
    std::vector<Change> changes;
    for (const auto& gpu : before.gpus)
        if (!gpu_of(after, gpu.id))
            changes.push_back(gpu_change("gpu-removed", gpu, after));
    for (const auto& gpu : after.gpus) {
        const auto* old = gpu_of(before, gpu.id);
        if (!old)
            changes.push_back(gpu_change("gpu-added", gpu, after));
        auto members = old ? differing_members(*old, gpu) : std::vector<std::string>{};
        if (members.empty())
            continue;
        changes.push_back(gpu_change("gpu-changed", gpu, after));
        changes.back().changed = std::move(members);
    }
    if (before.state != after.state)
        changes.push_back(change_of("state", after));
    // The generation also changes with every change above, so it is reported only on its own.
    else if (changes.empty() && before.generation != after.generation)
        changes.push_back(change_of("generation", after));
    return changes;
}

Value change_document(const Change& change, WallTime at) {
    Value document{Value::Object{}};
    document["event"] = change.event;
    document["gpu"] = to_value(change.gpu);
    document["name"] = to_value(change.name);
    document["changed"] = to_value(change.changed);
    document["state"] = change.state;
    document["generation"] = to_value(change.generation);
    document["at_usec"] = to_value(at);
    return document;
}

std::string change_text(const Change& change) {
    std::string members;
    for (const auto& member : change.changed)
        members += (members.empty() ? ": " : ", ") + member;
    if (change.gpu)
        return fmt::format("{:<12} {}  {}{}", change.event, scrubbed(*change.gpu),
                           scrubbed(change.name.value_or("")), members);
    if (change.event == "state")
        return phrase("{event} {state}, generation {generation}",
                      {{"event", fmt::format("{:<12}", change.event)},
                       {"state", std::string{change.state}},
                       {"generation", std::to_string(change.generation)}});
    return fmt::format("{:<12} {}", change.event, change.generation);
}

}  // namespace gpuprobe::inline cli
