// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/value.h"
#include "unit/report/machines.h"

/// An H200 in MIG mode, for tests of partitions and of ComputeView.
namespace gpuprobe::test {

inline Value json(const char* text) {
    return parse_json(text, kib(4)).value();
}

inline constexpr const char* kCard = "pci:0000:00:06.0";
inline constexpr const char* kInstance = "MIG-7e611089-1272-699d-8985-ab84fef4311e";
inline constexpr const char* kOtherInstance = "MIG-8e611089-1272-699d-8985-ab84fef4311e";

/// An H200 for which NVML reports these instances. The kernel reports two instances.
inline MachineFixture scene_with(const char* mig_devices) {
    auto fixture = headless_h200();
    fixture.machine.devices.front().partitions = {
        {.name = "mig-1", .gpu_instance = 1, .compute_instance = 0, .nodes = {"/dev/a", "/dev/b"}},
        {.name = "mig-2", .gpu_instance = 2, .compute_instance = 0}};
    fixture.probes.at(1).devices.front().extra["mig_devices"] = json(mig_devices);
    return fixture;
}

inline constexpr const char* kTwo = R"([
    {"index":0,"name":"NVIDIA H200 MIG 3g.71gb","uuid":"MIG-7e611089-1272-699d-8985-ab84fef4311e",
     "gpu_instance":1,"compute_instance":0,"gpu_slices":3,"compute_slices":3,"multiprocessors":60,
     "memory_size":74893492224,"memory":{"total":74893492224,"free":74000000000}},
    {"index":4,"uuid":"MIG-8e611089-1272-699d-8985-ab84fef4311e","gpu_instance":5,
     "compute_instance":1,"gpu_slices":2,"compute_slices":1,"memory_size":37446746112}])";

/// The report if CUDA shows a process only the instance with this UUID. CUDA shows the instance
/// that CUDA_VISIBLE_DEVICES names, by default the first instance.
inline Report with_cuda_on(const char* uuid) {
    auto fixture = scene_with(kTwo);
    auto& cuda = fixture.probes.at(0).devices.front();
    cuda.uuid = uuid;
    cuda.name = "NVIDIA H200 MIG 3g.71gb";
    cuda.memory = FactMemory{.total = mib(71424)};
    fixture.probes.at(1).devices.front().extra["mig_mode"] = true;
    return assembled(fixture);
}

}  // namespace gpuprobe::test
