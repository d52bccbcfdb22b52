// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "report/assemble.h"

/// Machines as the inventory and the workers would describe them, for tests of the report.
namespace gpuprobe::test {

struct MachineFixture {
    std::string name = {};
    Machine machine = {};
    std::vector<ProbeResult> probes = {};
};

inline const WallTime kNow{std::chrono::microseconds{1'700'000'000'000'000}};
inline const WallTime kProbed{std::chrono::microseconds{1'699'999'999'000'000}};

inline PciAddress address(const char* text) {
    return parse_text(std::string_view{text}, std::type_identity<PciAddress>{}).value();
}

inline Host linux_host() {
    return Host{.os = "linux",
                .arch = "x86_64",
                .kernel = "6.1.0",
                .libc = {.name = "glibc", .version = "2.36"},
                .cpu = {.model = "A CPU", .level = "x86-64-v3", .features = {"avx2"}, .cores = 8},
                .memory = {.total = gib(32), .available = gib(20)}};
}

inline HardwareDevice pci_device(const char* where,
                                 const char* vendor,
                                 const char* device,
                                 const char* pci_class) {
    return HardwareDevice{.id = "pci:" + std::string{where},
                          .sysfs_path = "/sys/devices/pci0000:00/" + std::string{where},
                          .pci = address(where),
                          .vendor_id = vendor,
                          .device_id = device,
                          .pci_class = pci_class,
                          .revision = "00",
                          .runtime_status = "active"};
}

inline DeviceNode node(const char* path, bool accessible = true) {
    return DeviceNode{.path = path,
                      .mode = 0660,
                      .group = "render",
                      .accessible = accessible,
                      .reason = accessible ? std::nullopt : std::optional{"no-permission"}};
}

inline void with_drm(HardwareDevice& device, int card, int render) {
    device.is_drm = true;
    device.drm = {.primary = "226:" + std::to_string(card),
                  .render = "226:" + std::to_string(render)};
    device.nodes = {node(("/dev/dri/card" + std::to_string(card)).c_str()),
                    node(("/dev/dri/renderD" + std::to_string(render)).c_str())};
}

inline ProbeResult probe(const char* api,
                         const char* driver,
                         Outcome outcome,
                         std::vector<DeviceFacts> devices = {}) {
    Value runtime;
    if (outcome == Outcome::Answered)
        runtime["version"] = "1.3";
    return ProbeResult{.api = api,
                       .driver = driver,
                       .outcome = outcome,
                       .devices = std::move(devices),
                       .runtime = runtime,
                       .duration = std::chrono::milliseconds{20},
                       .at = kProbed};
}

inline DeviceFacts vulkan_facts(std::uint32_t index,
                                const char* name,
                                const char* vendor,
                                const char* device,
                                const char* where,
                                DeviceType type,
                                Bytes total) {
    DeviceFacts facts{.index = index,
                      .name = name,
                      .vendor_id = vendor,
                      .device_id = device,
                      .type = type,
                      .memory = FactMemory{.total = total}};
    if (where)
        facts.pci = address(where);
    facts.extra["api_version"] = "1.3.204";
    facts.extra["webgpu"] = "core";
    facts.extra["webgpu_missing"] = Value{Value::Array{}};
    return facts;
}

constexpr const char* kIntelIcd = "/usr/share/vulkan/icd.d/intel_icd.x86_64.json";
constexpr const char* kRadeonIcd = "/usr/share/vulkan/icd.d/radeon_icd.x86_64.json";
constexpr const char* kNvidiaIcd = "/usr/share/vulkan/icd.d/nvidia_icd.json";
constexpr const char* kLavapipeIcd = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json";
constexpr const char* kNvidiaOpenCl = "/etc/OpenCL/vendors/nvidia.icd";
constexpr const char* kPoclIcd = "/etc/OpenCL/vendors/pocl.icd";
constexpr const char* kUuid = "7e611089-1272-699d-8985-ab84fef4311e";
constexpr const char* kOtherUuid = "1e611089-1272-699d-8985-ab84fef4311e";

inline HardwareDevice intel_integrated() {
    auto device = pci_device("0000:00:02.0", "8086", "a788", "0300");
    device.driver = "i915";
    device.boot_vga = true;
    with_drm(device, 1, 129);
    return device;
}

inline HardwareDevice nvidia_laptop() {
    auto device = pci_device("0000:01:00.0", "10de", "2860", "0300");
    device.driver = "nvidia";
    device.driver_version = "580.95.05";
    device.driver_flavour = "open";
    device.model = "NVIDIA GeForce RTX 4070 Laptop GPU";
    device.uuid = "GPU-" + std::string{kUuid};
    device.boot_vga = false;
    with_drm(device, 0, 128);
    device.nodes.push_back(node("/dev/nvidia0"));
    return device;
}

inline DeviceFacts cuda_facts(std::uint32_t index, const char* where, Bytes total) {
    DeviceFacts facts{.index = index,
                      .name = "NVIDIA GeForce RTX 4070 Laptop GPU",
                      .vendor_id = "10de",
                      .uuid = "GPU-" + std::string{kUuid},
                      .type = DeviceType::Discrete,
                      .memory = FactMemory{.total = total}};
    if (where)
        facts.pci = address(where);
    facts.extra["compute_capability"] = "8.9";
    return facts;
}

inline DeviceFacts lavapipe_facts() {
    DeviceFacts facts{.index = 0,
                      .name = "llvmpipe (LLVM 15.0.6, 256 bits)",
                      .vendor_id = "10005",
                      .device_id = "0000",
                      .uuid = "6d657361-3232-2e33-2e36-000000000000",
                      .type = DeviceType::Cpu,
                      .memory = FactMemory{.total = gib(2)}};
    facts.extra["driver_id"] = "mesa-llvmpipe";
    return facts;
}

inline DeviceFacts pocl_facts() {
    DeviceFacts facts{.index = 0,
                      .name = "pthread-A CPU",
                      .vendor_id = "8086",
                      .type = DeviceType::Cpu,
                      .memory = FactMemory{.total = gib(30)}};
    facts.extra["platform_name"] = "Portable Computing Language";
    return facts;
}

/// An Intel iGPU and an NVIDIA dGPU, which OpenCL identifies only by its UUID.
inline MachineFixture laptop() {
    auto vulkan = vulkan_facts(0, "NVIDIA GeForce RTX 4070 Laptop GPU", "10de", "2860",
                               "0000:01:00.0", DeviceType::Discrete, mib(8188));
    vulkan.uuid = kUuid;
    auto opencl = DeviceFacts{.index = 0,
                              .name = "NVIDIA GeForce RTX 4070 Laptop GPU",
                              .vendor_id = "10de",
                              .uuid = kUuid,
                              .memory = FactMemory{.total = mib(7900)}};
    auto intel = vulkan_facts(0, "Intel(R) Graphics (RPL-S)", "8086", "a788", "0000:00:02.0",
                              DeviceType::Integrated, gib(16));
    intel.uuid = "868088a7-0400-0000-0002-000000000000";
    return MachineFixture{
        .name = "laptop",
        .machine = {.host = linux_host(), .devices = {intel_integrated(), nvidia_laptop()}},
        .probes = {
            probe("vulkan", kIntelIcd, Outcome::Answered, {intel}),
            probe("vulkan", kNvidiaIcd, Outcome::Answered, {vulkan}),
            probe("vulkan", kLavapipeIcd, Outcome::Answered, {lavapipe_facts()}),
            probe("opencl", kNvidiaOpenCl, Outcome::Answered, {opencl}),
            probe("cuda", "", Outcome::Answered, {cuda_facts(0, "0000:01:00.0", mib(7900))})}};
}

/// A data center card without DRM. CUDA and NVML list the card; Vulkan's driver lists no device.
inline MachineFixture headless_h200() {
    auto device = pci_device("0000:00:06.0", "10de", "2335", "0302");
    device.driver = "nvidia";
    device.driver_version = "580.159.04";
    device.driver_flavour = "open";
    device.uuid = "GPU-" + std::string{kUuid};
    device.largest_bar = gib(256);
    device.nodes = {node("/dev/nvidia0")};
    auto cuda = cuda_facts(0, "0000:00:06.0", mib(143155));
    cuda.name = "NVIDIA H200";
    cuda.extra["compute_capability"] = "9.0";
    auto nvml = cuda;
    nvml.device_id = "2335";
    nvml.memory = FactMemory{.total = mib(143771), .free = mib(143155)};
    nvml.extra["memory_reserved"] = mib(615).count;
    return MachineFixture{
        .name = "headless-h200",
        .machine = {.host = linux_host(),
                    .devices = {device},
                    .shared_nodes = {node("/dev/nvidiactl"), node("/dev/nvidia-uvm")}},
        .probes = {probe("cuda", "", Outcome::Answered, {cuda}),
                   probe("nvml", "", Outcome::Answered, {nvml}),
                   probe("vulkan", kNvidiaIcd, Outcome::Answered)}};
}

/// A server whose only display is its management controller.
inline MachineFixture bmc_only() {
    auto device = pci_device("0000:03:00.0", "1a03", "2000", "0300");
    device.driver = "ast";
    device.boot_vga = true;
    device.is_drm = true;
    device.drm.primary = "226:0";
    device.nodes = {node("/dev/dri/card0")};
    return MachineFixture{
        .name = "bmc-only",
        .machine = {.host = linux_host(), .devices = {device}},
        .probes = {probe("vulkan", kLavapipeIcd, Outcome::Answered, {lavapipe_facts()}),
                   probe("cuda", "", Outcome::Absent)}};
}

/// No hardware device, but two software implementations.
inline MachineFixture software_only() {
    return MachineFixture{
        .name = "software-only",
        .machine = {.host = linux_host()},
        .probes = {probe("vulkan", kLavapipeIcd, Outcome::Answered, {lavapipe_facts()}),
                   probe("opencl", kPoclIcd, Outcome::Answered, {pocl_facts()})}};
}

inline HardwareDevice amd_card(const char* where, int card, int render) {
    auto device = pci_device(where, "1002", "744c", "0300");
    device.driver = "amdgpu";
    with_drm(device, card, render);
    device.memory = {{.source = "amdgpu-sysfs", .what = "total", .bytes = gib(24)},
                     {.source = "amdgpu-sysfs", .what = "used", .bytes = gib(1)}};
    device.extra["gfx_target"] = "gfx1100";
    device.extra["vram_vendor"] = "samsung";
    return device;
}

/// RADV writes the PCI address into the UUID.
inline std::string radv_uuid(const char* bus) {
    return "00000000-" + std::string{bus} + "00-0000-0000-000000000000";  // little-endian
}

/// Two identical AMD cards. RADV reports the addresses; the other driver only reports its UUIDs.
inline MachineFixture two_identical() {
    auto first = vulkan_facts(0, "AMD Radeon RX 7900 XTX (RADV NAVI31)", "1002", "744c",
                              "0000:03:00.0", DeviceType::Discrete, gib(24));
    auto second = vulkan_facts(1, "AMD Radeon RX 7900 XTX (RADV NAVI31)", "1002", "744c",
                               "0000:0a:00.0", DeviceType::Discrete, gib(24));
    first.extra["driver_id"] = second.extra["driver_id"] = "mesa-radv";
    auto amdvlk = vulkan_facts(0, "AMD Radeon RX 7900 XTX", "1002", "744c", nullptr,
                               DeviceType::Discrete, gib(24));
    amdvlk.uuid = radv_uuid("0a");
    amdvlk.extra["driver_id"] = "amd-open-source";
    return MachineFixture{
        .name = "two-identical",
        .machine = {.host = linux_host(),
                    .devices = {amd_card("0000:03:00.0", 0, 128),
                                amd_card("0000:0a:00.0", 1, 129)}},
        .probes = {
            probe("vulkan", kRadeonIcd, Outcome::Answered, {first, second}),
            probe("vulkan", "/etc/vulkan/icd.d/amd_icd64.json", Outcome::Answered, {amdvlk})}};
}

/// A processor's GPU with a carve-out. OpenCL reports only its vendor and device.
inline MachineFixture amd_apu() {
    auto device = pci_device("0000:c4:00.0", "1002", "15bf", "0380");
    device.driver = "amdgpu";
    with_drm(device, 0, 128);
    device.memory = {{.source = "amdgpu-sysfs", .what = "total", .bytes = mib(512)},
                     {.source = "amdgpu-sysfs", .what = "used", .bytes = mib(112)},
                     {.source = "amdgpu-sysfs", .what = "gtt-total", .bytes = gib(15)},
                     {.source = "amdgpu-sysfs", .what = "gtt-used", .bytes = gib(1)}};
    device.extra["gfx_target"] = "gfx1103";
    DeviceFacts opencl{.index = 0, .name = "gfx1103", .vendor_id = "1002"};
    return MachineFixture{.name = "amd-apu",
                          .machine = {.host = linux_host(), .devices = {device}},
                          .probes = {probe("opencl", "/etc/OpenCL/vendors/amdocl64.icd",
                                           Outcome::Answered, {opencl})}};
}

/// The laptop if NVIDIA's Vulkan driver crashes.
inline MachineFixture crashed_icd() {
    auto fixture = laptop();
    fixture.name = "crashed-icd";
    auto crashed = probe("vulkan", kNvidiaIcd, Outcome::Crashed);
    crashed.signal = 11;
    crashed.note = "in enumerate";
    fixture.probes.at(1) = crashed;
    return fixture;
}

/// A container in which the drivers are visible, but not /sys.
inline MachineFixture hidden_sysfs() {
    auto fixture = laptop();
    fixture.name = "hidden-sysfs";
    fixture.machine.devices.clear();
    fixture.machine.host.container = "docker";
    fixture.machine.notes = {"/sys/bus/pci/devices: No such file or directory"};
    return fixture;
}

inline std::vector<MachineFixture> fixtures() {
    return {laptop(),        headless_h200(), bmc_only(),    software_only(),
            two_identical(), amd_apu(),       crashed_icd(), hidden_sysfs()};
}

inline Report assembled(const MachineFixture& fixture) {
    return assemble(fixture.machine, fixture.probes, {.generation = 7, .now = kNow});
}

/// The GPU with that id. If there is none, the test fails.
inline Gpu gpu_at(const Report& report, std::string_view id) {
    for (const auto& gpu : report.gpus)
        if (gpu.id == id)
            return gpu;
    return Gpu{.id = "no GPU " + std::string{id}};
}

}  // namespace gpuprobe::test
