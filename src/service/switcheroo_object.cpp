// SPDX-License-Identifier: Apache-2.0
#include "service/switcheroo_object.h"

#include <algorithm>

#include "policy/gpu_selectors.h"
#include "wire/errors.h"
#include "wire/text.h"

namespace gpuprobe {
namespace {

constexpr const char* kPath = "/net/hadess/SwitcherooControl";
/// What switcheroo-control says of a device that udev has no name for.
constexpr const char* kNoName = "Unknown Graphics Controller";

bool renders(const Gpu& gpu) {
    return gpu.kind != GpuKind::DisplayOnly &&
           std::ranges::any_of(gpu.nodes, [](const DeviceNode& node) {
               return node.path.starts_with("/dev/dri/renderD");
           });
}

/// As udev's ID_PATH_TAG: "pci-0000_01_00_0".
std::string path_tag(const PciAddress& address) {
    auto tag = "pci-" + text_of(address);
    std::ranges::replace_if(
        tag, [](char character) { return character == ':' || character == '.'; }, '_');
    return tag;
}

/// NVIDIA's own driver is called by its offload variables, all others by Mesa's. Nothing where the
/// place has no name.
std::vector<std::string> environment_of(const Report& report, const Gpu& gpu) {
    std::vector<std::string> environment;
    if (gpu.driver.name == "nvidia")
        return {"__GLX_VENDOR_LIBRARY_NAME", "nvidia",     "__NV_PRIME_RENDER_OFFLOAD", "1",
                "__VK_LAYER_NV_optimus",     "NVIDIA_only"};
    if (gpu.pci && gpu.pci->address)
        return {"DRI_PRIME", path_tag(*gpu.pci->address)};
    for (const auto& selector : gpu_selectors(report, gpu))
        if (selector.api == "opengl" && environment.empty())
            for (const auto& [name, value] : selector.variables)
                environment.insert(environment.end(), {name, value});
    return environment;
}

}  // namespace

std::vector<SwitcherooGpu> switcheroo_gpus(const Report& report) {
    std::vector<const Gpu*> found;
    for (const auto& gpu : report.gpus)
        if (renders(gpu))
            found.push_back(&gpu);
    std::ranges::sort(found, {}, &Gpu::id);
    std::vector<SwitcherooGpu> gpus;
    for (const auto* gpu : found)
        gpus.push_back({.name = bus::bus_text(gpu->name.value_or(kNoName)),
                        .environment = environment_of(report, *gpu),
                        .is_default = gpu->primary || found.size() == 1,
                        .is_discrete = gpu->kind == GpuKind::Discrete});
    return gpus;
}

SwitcherooObject::SwitcherooObject(sdbus::IConnection& connection, engine::Engine& engine)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{kPath}}, engine_{engine} {
    announced_ = switcheroo_gpus(engine_.report());
    registerAdaptor();
}

SwitcherooObject::~SwitcherooObject() {
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

void SwitcherooObject::update() {
    auto now = switcheroo_gpus(engine_.report());
    if (now == announced_)
        return;
    announced_ = std::move(now);
    (void)bus::attempt(
        [this] { emitPropertiesChangedSignal(SwitcherooControl_adaptor::INTERFACE_NAME); });
}

std::vector<SwitcherooGpu> SwitcherooObject::current() {
    engine_.catch_up();
    return switcheroo_gpus(engine_.report());
}

std::uint32_t SwitcherooObject::NumGPUs() {
    return bus::guard([this] { return static_cast<std::uint32_t>(current().size()); });
}

std::vector<std::map<std::string, sdbus::Variant>> SwitcherooObject::GPUs() {
    std::vector<std::map<std::string, sdbus::Variant>> list;
    bus::guard([&] {
        for (const auto& gpu : current())
            list.push_back({{"Name", sdbus::Variant{gpu.name}},
                            {"Environment", sdbus::Variant{gpu.environment}},
                            {"Default", sdbus::Variant{gpu.is_default}},
                            {"Discrete", sdbus::Variant{gpu.is_discrete}}});
    });
    return list;
}

}  // namespace gpuprobe
