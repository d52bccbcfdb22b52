// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "store/probe_history.h"
#include "support/temporary_folder.h"

namespace gpuprobe::store {
namespace fingerprint_test {

using support::TemporaryFolder;

const Machine kMachine{
    .host = {.kernel = "6.1.0"},
    .devices = {{.id = "pci:0000:00:06.0", .vendor_id = "10de", .driver = "nvidia"}}};

std::string print_of(const Machine& machine) {
    return fingerprint_of(machine, RootedFiles{"/nonexistent"}, {});
}

TEST(Fingerprint, ChangesWithWhatADriverCanAnswer) {
    const std::pair<const char*, std::function<void(Machine&)>> changes[] = {
        {"kernel", [](Machine& machine) { machine.host.kernel = "6.1.1"; }},
        {"driver version", [](Machine& machine) { machine.devices[0].driver_version = "580"; }},
        {"board", [](Machine& machine) { machine.devices[0].subsystem_vendor_id = "1458"; }},
        {"partition",
         [](Machine& machine) { machine.devices[0].partitions = {{.name = "mig-1"}}; }},
        {"node", [](Machine& machine) { machine.devices[0].nodes = {{.path = "/dev/nvidia0"}}; }},
        {"shared node", [](Machine& machine) { machine.shared_nodes = {{.path = "/dev/kfd"}}; }},
        {"one more", [](Machine& machine) { machine.devices.push_back({.id = "other"}); }}};
    for (const auto& [name, change] : changes) {
        auto machine = kMachine;
        change(machine);
        EXPECT_NE(print_of(machine), print_of(kMachine)) << name;
    }
}

TEST(Fingerprint, StaysWhenAGpuFallsAsleep) {
    auto machine = kMachine;
    machine.devices[0].runtime_status = "suspended";
    EXPECT_EQ(print_of(machine), print_of(kMachine));
}

std::string driver_print_of(const Machine& machine, const FileSystem& files) {
    std::vector<const HardwareDevice*> devices;
    for (const auto& device : machine.devices)
        devices.push_back(&device);
    return driver_fingerprint_of(devices, machine.host.kernel, files, {"/icd.json"});
}

TEST(DriverFingerprint, ChangesWithTheDriver) {
    const RootedFiles none{"/nonexistent"};
    const std::pair<const char*, std::function<void(Machine&)>> changes[] = {
        {"kernel", [](Machine& machine) { machine.host.kernel = "6.1.1"; }},
        {"driver version", [](Machine& machine) { machine.devices[0].driver_version = "580"; }},
        {"driver", [](Machine& machine) { machine.devices[0].driver = "nouveau"; }},
        {"board", [](Machine& machine) { machine.devices[0].device_id = "2330"; }}};
    for (const auto& [name, change] : changes) {
        auto machine = kMachine;
        change(machine);
        EXPECT_NE(driver_print_of(machine, none), driver_print_of(kMachine, none)) << name;
    }
    const TemporaryFolder root;
    root.write("icd.json", "{}");
    const RootedFiles files{root.path()};
    const auto before = driver_print_of(kMachine, files);
    EXPECT_NE(before, driver_print_of(kMachine, none));
    root.write("icd.json", "{ }");
    EXPECT_NE(before, driver_print_of(kMachine, files));
}

TEST(DriverFingerprint, StaysFromBootToBoot) {
    const RootedFiles none{"/nonexistent"};
    auto machine = kMachine;
    machine.devices[0].nodes = {{.path = "/dev/nvidia0"}};
    machine.devices[0].drm.primary = "226:1";
    machine.devices[0].runtime_status = "suspended";
    machine.shared_nodes = {{.path = "/dev/kfd"}};
    EXPECT_EQ(driver_print_of(machine, none), driver_print_of(kMachine, none));
}

std::string trial_print_of(const Machine& machine, bool has_device = true) {
    std::vector<const HardwareDevice*> devices;
    if (has_device)
        devices.push_back(machine.devices.data());
    return trial_fingerprint_of(devices, machine.host, RootedFiles{"/nonexistent"}, {});
}

TEST(TrialFingerprint, ChangesWithTheDeviceAndItsDriver) {
    const std::pair<const char*, std::function<void(Machine&)>> changes[] = {
        {"kernel", [](Machine& machine) { machine.host.kernel = "6.1.1"; }},
        {"driver version", [](Machine& machine) { machine.devices[0].driver_version = "580"; }},
        {"board", [](Machine& machine) { machine.devices[0].device_id = "2330"; }},
        {"partition",
         [](Machine& machine) { machine.devices[0].partitions = {{.name = "mig-1"}}; }}};
    for (const auto& [name, change] : changes) {
        auto machine = kMachine;
        change(machine);
        EXPECT_NE(trial_print_of(machine), trial_print_of(kMachine)) << name;
    }
}

TEST(TrialFingerprint, ChangesWithTheProcessorWhereThatComputes) {
    auto machine = kMachine;
    machine.host.cpu.model = "another";
    EXPECT_EQ(trial_print_of(machine), trial_print_of(kMachine));
    EXPECT_NE(trial_print_of(machine, false), trial_print_of(kMachine, false));
}

}  // namespace fingerprint_test
}  // namespace gpuprobe::store
