// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/probed_machine.h"
#include "report/assemble.h"
#include "report/join.h"
#include "report/trials.h"
#include "support/places.h"

/// The machines of tests/data/machines, as a whole and divided into devices.
namespace gpuprobe::testing_properties {

/// A device as an API reported it, and the probe.
struct ApiRecord {
    ProbeResult probe = {};  ///< the probe without the list of devices
    DeviceFacts facts = {};
    std::vector<ProbeResult> trials = {};  ///< the results of verifying and measuring this device
};

/// One physical device with everything that is known about it: hardware, or only records of APIs.
struct Part {
    std::string machine = {};
    std::optional<HardwareDevice> hardware = {};
    std::vector<ApiRecord> records = {};
    std::string story = {};  ///< how the part differs from the recorded part
};

/// One captured machine.
struct Recorded {
    std::string name = {};
    Machine machine = {};
    std::vector<ProbeResult> probes = {};
    std::vector<Part> parts = {};
    std::vector<ProbeResult> empty = {};   ///< queries that found no device, each with its outcome
    std::vector<ApiRecord> software = {};  ///< software devices
};

inline ProbeResult without_devices(ProbeResult probe) {
    probe.devices.clear();
    return probe;
}

inline ApiRecord record_of(const ApiDevice& device, const std::vector<const ProbeResult*>& probes) {
    ApiRecord record{.probe = without_devices(*device.probe), .facts = *device.facts};
    for (const auto* probe : probes)
        if (probe->api == device.probe->api && probe->driver == device.probe->driver &&
            probe->device && probe->device == device_key(*device.facts))
            record.trials.push_back(*probe);
    return record;
}

/// Divides the machine into the devices that the report would assemble.
inline void take_apart(Recorded& recorded) {
    const auto sorted = sorted_probes(recorded.probes);
    const auto joined = join(recorded.machine, sorted);
    for (const auto& subject : joined.subjects) {
        Part part{.machine = recorded.name};
        if (subject.hardware)
            part.hardware = *subject.hardware;
        for (const auto& claim : subject.claims)
            part.records.push_back(record_of(claim.device, sorted));
        recorded.parts.push_back(std::move(part));
    }
    for (const auto& device : joined.software)
        recorded.software.push_back(record_of(device, sorted));
    for (const auto& probe : recorded.probes)
        if (probe.devices.empty() && probe.stage == kQueryStage)
            recorded.empty.push_back(probe);
}

inline Recorded read_recorded(const std::filesystem::path& folder) {
    Recorded recorded{.name = folder.filename().string()};
    auto source = engine::replayed_machine(folder.string());
    EXPECT_TRUE(source) << source.error().text;
    if (!source)
        return recorded;
    recorded.machine = scan_machine(*source->files, *source->nodes, *source->host);
    recorded.probes = std::move(*source->recorded);
    take_apart(recorded);
    return recorded;
}

/// All recorded machines, sorted by name. They are read only once.
inline const std::vector<Recorded>& recorded_machines() {
    static const auto kMachines = [] {
        std::vector<Recorded> machines;
        for (const auto& entry :
             std::filesystem::directory_iterator{GPUPROBE_SOURCE_DIR "/tests/data/machines"})
            if (std::filesystem::exists(entry.path() / "capture.json"))
                machines.push_back(read_recorded(entry.path()));
        std::ranges::sort(machines, {}, &Recorded::name);
        return machines;
    }();
    return kMachines;
}

inline bool counts(const Part& part) {
    return !part.hardware || role_of(*part.hardware) != Role::Dropped;
}

/// The parts that are GPUs, display adapters or accelerators, either with hardware or without.
inline std::vector<const Part*> parts_of(bool has_hardware) {
    std::vector<const Part*> parts;
    for (const auto& machine : recorded_machines())
        for (const auto& part : machine.parts)
            if (counts(part) && part.hardware.has_value() == has_hardware)
                parts.push_back(&part);
    return parts;
}
inline const std::vector<const Part*>& visible_parts() {
    static const auto kParts = parts_of(true);
    return kParts;
}
/// The parts that only APIs report.
inline const std::vector<const Part*>& hidden_parts() {
    static const auto kParts = parts_of(false);
    return kParts;
}

/// Parts that cannot be used separately: those of a machine with virtual functions, and those of a
/// WSL machine.
inline const std::vector<std::vector<Part>>& families() {
    static const auto kFamilies = [] {
        std::vector<std::vector<Part>> families;
        for (const auto& machine : recorded_machines()) {
            const bool has_functions = std::ranges::any_of(machine.parts, [](const Part& part) {
                return part.hardware && part.hardware->physical_function;
            });
            if (!has_functions && !machine.machine.host.wsl)
                continue;
            auto& family = families.emplace_back();
            std::ranges::copy_if(machine.parts, std::back_inserter(family), counts);
        }
        return families;
    }();
    return kFamilies;
}

}  // namespace gpuprobe::testing_properties
