// SPDX-License-Identifier: Apache-2.0
#include "service/switcheroo_object.h"

#include <algorithm>

#include "policy/environment.h"

namespace gpuprobe::inline service {
namespace {

constexpr const char* kPath = "/net/hadess/SwitcherooControl";
/// The name that switcheroo-control uses for a device that has no name in udev.
constexpr const char* kNoName = "Unknown Graphics Controller";

/// Whether the GPU can render: it has a render node.
bool renders(const Gpu& gpu) {
    return gpu.kind != GpuKind::DisplayOnly &&
           std::ranges::any_of(gpu.nodes, [](const DeviceNode& node) {
               return node.path.starts_with("/dev/dri/renderD");
           });
}

/// The address as udev writes it in ID_PATH_TAG: "pci-0000_01_00_0".
std::string path_tag(const PciAddress& address) {
    auto tag = "pci-" + text_of(address);
    std::ranges::replace_if(
        tag, [](char character) { return character == ':' || character == '.'; }, '_');
    return tag;
}

const std::vector<std::string> kOffloadToNvidia = {"__GLX_VENDOR_LIBRARY_NAME", "nvidia",
                                                   "__NV_PRIME_RENDER_OFFLOAD", "1",
                                                   "__VK_LAYER_NV_optimus",     "NVIDIA_only"};

/// The variables that select a GPU: NVIDIA's offload variables for its proprietary driver,
/// DRI_PRIME (Mesa) for all other drivers. Empty if the GPU's location can't be named.
std::vector<std::string> environment_of(const Report& report, const Gpu& gpu) {
    if (gpu.driver.name == "nvidia")
        return kOffloadToNvidia;
    if (gpu.pci && gpu.pci->address)
        return {"DRI_PRIME", path_tag(*gpu.pci->address)};
    // Not a PCI device: use the first selector for OpenGL.
    std::vector<std::string> environment;
    for (const auto& selector : gpu_selectors(report, gpu))
        if (selector.api == "opengl" && environment.empty())
            for (const auto& [name, value] : selector.variables)
                environment.insert(environment.end(), {name, value});
    return environment;
}

std::vector<std::string> environment_of(const RenderNode& node) {
    if (node.driver == "nvidia")
        return kOffloadToNvidia;
    return node.path_tag.empty() ? std::vector<std::string>{}
                                 : std::vector<std::string>{"DRI_PRIME", node.path_tag};
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
}

/// Vendor and model, with trademark signs as switcheroo-control writes them.
/// Source: switcheroo-control 2.6, src/info-cleanup.c.
std::string name_of(const RenderNode& node) {
    if (!node.vendor || !node.model)
        return node.model.value_or(node.vendor.value_or(kNoName));
    auto name = *node.vendor + " " + *node.model;
    replace_all(name, "Intel(R)", "Intel®");
    replace_all(name, "AMD", "AMD®");
    replace_all(name, "Graphics Controller", "Graphics");
    return name;
}

/// Whether the node belongs to a discrete GPU according to the report; udev does not have this
/// fact.
bool is_discrete(const Report& report, const RenderNode& node) {
    return std::ranges::any_of(report.gpus, [&node](const Gpu& gpu) {
        return gpu.kind == GpuKind::Discrete &&
               std::ranges::find(gpu.nodes, node.path, &DeviceNode::path) != gpu.nodes.end();
    });
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

std::vector<SwitcherooGpu> switcheroo_gpus(const Report& report,
                                           const std::vector<RenderNode>& nodes) {
    std::vector<SwitcherooGpu> gpus;
    for (const auto& node : nodes)
        if (auto environment = environment_of(node); !environment.empty())
            gpus.push_back({.name = bus::bus_text(name_of(node)),
                            .environment = std::move(environment),
                            .is_default = node.is_boot_display,
                            .is_discrete = is_discrete(report, node)});
    if (gpus.size() == 1)
        gpus.front().is_default = true;
    return gpus;
}

SwitcherooObject::SwitcherooObject(sdbus::IConnection& connection, engine::Engine& engine)
    : AdaptorInterfaces{connection, sdbus::ObjectPath{kPath}}, engine_{engine} {
    announced_ = now();
    registerAdaptor();
}

SwitcherooObject::~SwitcherooObject() {
    (void)bus::attempt([this] { unregisterAdaptor(); });
}

void SwitcherooObject::update() {
    // Most changes of the report don't concern this interface.
    auto gpus = now();
    if (gpus == announced_)
        return;
    announced_ = std::move(gpus);
    (void)bus::attempt(
        [this] { emitPropertiesChangedSignal(SwitcherooControl_adaptor::INTERFACE_NAME); });
}

std::vector<SwitcherooGpu> SwitcherooObject::current() {
    engine_.catch_up();
    return now();
}

/// Without udev (a replayed machine, or a container without udevd) the names come from the report.
std::vector<SwitcherooGpu> SwitcherooObject::now() {
    const auto nodes = engine_.is_replayed() ? std::vector<RenderNode>{} : render_nodes();
    return nodes.empty() ? switcheroo_gpus(engine_.report())
                         : switcheroo_gpus(engine_.report(), nodes);
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

}  // namespace gpuprobe::inline service
