// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/value.h"
#include "unit/properties/documents.h"
#include "unit/properties/each_machine.h"

/// Many captures lack probes that every live machine has. Answers about these captures are valid
/// for live machines only if the missing probes change nothing.
namespace gpuprobe::testing_properties {
namespace whole_capture_test {

bool has_probe(const MachineFixture& fixture, std::string_view api) {
    return std::ranges::any_of(fixture.probes,
                               [api](const ProbeResult& probe) { return probe.api == api; });
}

/// The devices that libpci lists, without names, which come from the machine's own table.
ProbeResult pci_probe(const Machine& machine) {
    ProbeResult probe{.api = "pci", .outcome = Outcome::Answered};
    for (const auto& hardware : machine.devices) {
        if (!hardware.pci)
            continue;
        DeviceFacts facts{.vendor_id = hardware.vendor_id, .device_id = hardware.device_id};
        facts.pci = hardware.pci;
        facts.extra["class"] = to_value(hardware.pci_class);
        facts.extra["revision"] = to_value(hardware.revision);
        probe.devices.push_back(std::move(facts));
    }
    return probe;
}

/// The smallest answer of the kernel's DRM drivers: the addresses and nodes of their devices.
ProbeResult drm_probe(const Machine& machine) {
    ProbeResult probe{.api = "drm", .outcome = Outcome::Answered};
    for (const auto& hardware : machine.devices) {
        if (!hardware.drm.render)
            continue;
        DeviceFacts facts{.index = static_cast<std::uint32_t>(probe.devices.size()),
                          .vendor_id = hardware.vendor_id,
                          .device_id = hardware.device_id};
        facts.pci = hardware.pci;
        facts.drm = hardware.drm;
        probe.devices.push_back(std::move(facts));
    }
    return probe;
}

/// The report's assessment of each GPU, without the added probes.
std::string judgement_of(const Report& report) {
    Value all{Value::Array{}};
    for (const auto& gpu : report.gpus) {
        Value one{Value::Object{}};
        one["id"] = to_value(gpu.id);
        one["kind"] = to_value(gpu.kind);
        one["vendor"] = to_value(gpu.vendor);
        one["architecture"] = to_value(gpu.architecture);
        one["partitions"] = to_value(gpu.partitions);
        for (const auto& [name, view] : gpu.backends)
            one[name] = to_value(view.usable);
        all.push_back(std::move(one));
    }
    return json_pretty(all);
}

void expect_the_same(const MachineFixture& fixture, ProbeResult added) {
    if (has_probe(fixture, added.api))
        return;
    auto whole = fixture;
    whole.probes.push_back(std::move(added));
    const auto report = report_of(fixture);
    const auto with_probe = report_of(whole);
    EXPECT_EQ(judgement_of(with_probe), judgement_of(report));
    for (const Profile& profile : profiles_for(fixture))
        EXPECT_EQ(json_pretty(to_value(choice(profile, with_probe))),
                  json_pretty(to_value(choice(profile, report))))
            << profile.name;
}

TEST(WholeCapture, AnswersTheSameWithTheProbeOfLibpci) {
    on_every_machine([](const MachineFixture& fixture) {
        expect_the_same(fixture, pci_probe(fixture.machine));
    });
}

TEST(WholeCapture, AnswersTheSameWithTheProbeOfTheKernelsDrmDrivers) {
    on_every_machine([](const MachineFixture& fixture) {
        expect_the_same(fixture, drm_probe(fixture.machine));
    });
}

}  // namespace whole_capture_test
}  // namespace gpuprobe::testing_properties
