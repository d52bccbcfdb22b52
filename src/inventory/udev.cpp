// SPDX-License-Identifier: Apache-2.0
#include "inventory/udev.h"

#include <algorithm>
#include <cerrno>
#include <string_view>

#include <libudev.h>
#include <sys/epoll.h>

#include "base/files.h"
#include "base/text.h"
#include "inventory/bus_devices.h"
#include "inventory/node_watch.h"
#include "inventory/sysfs.h"
#include "knowledge/chips.h"

namespace gpuprobe::inline inventory {
namespace {

/// True for modules that change a device's driver, version or nodes when they are loaded or
/// unloaded. The kernel writes "_" instead of "-" in a module's name. Names that begin with
/// "nvidia" always match, because nvidia_uvm has no device that would cause an event.
bool is_gpu_module(std::string_view name) {
    using knowledge::Role;
    if (name.starts_with("nvidia"))
        return true;
    const auto& table = knowledge::Chips::current();
    std::string dashed{name};
    std::ranges::replace(dashed, '_', '-');
    const auto* by_name = table.find_driver(name);
    const auto* driver = by_name ? by_name : table.find_driver(dashed);
    return driver && driver->role != Role::Display && driver->role != Role::Neither;
}

/// True if the table of chips lists the function; the argument has the form "1E60:2864".
bool is_known_function(std::string_view vendor_and_device) {
    const auto colon = vendor_and_device.find(':');
    if (colon == std::string_view::npos)
        return false;
    const auto vendor = hex_digits(vendor_and_device.substr(0, colon), 4);
    const auto device = hex_digits(vendor_and_device.substr(colon + 1), 4);
    return vendor && device && is_known_device(*vendor, *device);
}

/// The size of the receive buffer in bytes. The buffer must be large enough for a burst of events,
/// at boot or from a rack of GPUs. Without CAP_NET_ADMIN, the kernel limits the size to rmem_max.
/// The receive buffer uses no memory until events arrive.
constexpr int kReceiveBuffer = 8 * 1024 * 1024;
constexpr std::size_t kMaxEventsPerWake = 4096;

using Udev = CHandle<udev, udev_unref>;
using UdevMonitor = CHandle<udev_monitor, udev_monitor_unref>;
using UdevDevice = CHandle<udev_device, udev_device_unref>;

std::string text(const char* maybe) {
    return maybe ? maybe : "";
}

KernelEvent event_of(udev_device& device) {
    const auto property = [&device](const char* key) {
        return text(udev_device_get_property_value(&device, key));
    };
    return KernelEvent{
        .subsystem = text(udev_device_get_subsystem(&device)),
        .sysfs_path = text(udev_device_get_syspath(&device)),
        .device_type = text(udev_device_get_devtype(&device)),
        .pci_class = property("PCI_CLASS"),
        .pci_id = property("PCI_ID"),
        .is_connector_change = property("HOTPLUG") == "1" || property("LEASE") == "1"};
}

Result<UdevMonitor> udev_listener(udev& context) {
    UdevMonitor monitor{udev_monitor_new_from_netlink(&context, "udev")};
    if (!monitor)
        return errno_error("udev monitor", errno);
    for (const auto* subsystem : {"drm", "accel", "pci", "kfd", "module", "video4linux"})
        if (udev_monitor_filter_add_match_subsystem_devtype(monitor.get(), subsystem, nullptr) < 0)
            return Error{ErrorCode::Internal, "udev monitor: filter"};
    // Setting the size may fail: without the permission to exceed rmem_max, a burst of events may
    // overflow the buffer. An overflow of the buffer is handled like a change of hardware.
    (void)udev_monitor_set_receive_buffer_size(monitor.get(), kReceiveBuffer);
    if (const int problem = udev_monitor_enable_receiving(monitor.get()); problem < 0)
        return errno_error("udev monitor", -problem);
    return monitor;
}

/// Listens with libudev and with NodeWatch. If one of them does not work, the other is sufficient.
class Monitor final : public HardwareMonitor {
public:
    Monitor(Callback changed) : changed_{std::move(changed)} {}

    Status start(EventLoop& loop);

private:
    Status listen_to_udev(EventLoop& loop);
    void drain();

    Callback changed_ = {};
    Udev context_ = {};
    UdevMonitor udev_ = {};
    std::unique_ptr<NodeWatch> nodes_ = {};
    EventHandle udev_ready_ = {};
};

Status Monitor::listen_to_udev(EventLoop& loop) {
    context_.reset(udev_new());
    if (!context_)
        return Error{ErrorCode::Internal, "udev: no context"};
    udev_ = TRY(udev_listener(*context_));
    udev_ready_ = loop.watch(udev_monitor_get_fd(udev_.get()), EPOLLIN,
                             EventLoop::Priority::Hardware, [this](std::uint32_t) { drain(); });
    if (!udev_ready_)
        return Error{ErrorCode::Internal, "udev monitor: cannot be watched"};
    return Done{};
}

Status Monitor::start(EventLoop& loop) {
    const auto udev = listen_to_udev(loop);
    auto nodes = NodeWatch::create(loop, "/dev", changed_);
    if (nodes)
        nodes_ = std::move(nodes).value();
    if (!udev && !nodes_)
        return Error{ErrorCode::Unavailable, udev.error().text + "; " + nodes.error().text};
    return Done{};
}

/// Handles all pending events before anything else in the loop runs, so that a burst causes only
/// one wake-up, and no bus call is answered between two events of the burst.
void Monitor::drain() {
    bool has_changed = false;
    for (std::size_t i = 0; i < kMaxEventsPerWake; ++i) {
        errno = 0;
        const UdevDevice device{udev_monitor_receive_device(udev_.get())};
        if (device)
            has_changed = concerns_gpus(event_of(*device)) || has_changed;
        else if (errno == ENOBUFS)  // events were lost: assume a change
            has_changed = true;
        else if (errno != EINTR)
            break;
    }
    const auto changed = changed_;  // copied, because the callback may destroy this object
    if (has_changed)
        changed();
}

}  // namespace

bool concerns_gpus(const KernelEvent& event) {
    if (event.subsystem == "drm")
        return !event.is_connector_change &&
               (event.device_type.empty() || event.device_type == "drm_minor");
    if (event.subsystem == "accel" || event.subsystem == "kfd")
        return true;
    // Cameras are plugged into USB or created by programs, but codecs are parts of the SoC.
    if (event.subsystem == "video4linux")
        return event.sysfs_path.find("/usb") == std::string::npos &&
               event.sysfs_path.find("/devices/virtual/") == std::string::npos;
    if (event.subsystem == "module")
        return is_gpu_module(base_name(event.sysfs_path));
    if (event.subsystem != "pci")
        return false;
    // If the event contains no class, assume that the device is a GPU, because some kernels leave
    // the class out of "remove" events.
    return event.pci_class.empty() ||
           is_candidate_class(hex_digits(event.pci_class, 6).value_or("")) ||
           is_known_function(event.pci_id);
}

Result<std::unique_ptr<HardwareMonitor>> HardwareMonitor::create(EventLoop& loop,
                                                                 Callback changed) {
    auto monitor = std::make_unique<Monitor>(std::move(changed));
    TRY(monitor->start(loop));
    return std::unique_ptr<HardwareMonitor>{std::move(monitor)};
}

namespace {

constexpr std::size_t kMaxRenderNodes = 256;
constexpr std::size_t kMaxProperty = 256;

using UdevEnumerate = CHandle<udev_enumerate, udev_enumerate_unref>;

std::string property_text(const char* maybe) {
    return maybe ? scrubbed(maybe, kMaxProperty) : "";
}

/// The value of the property `own`; if that is missing or empty, the value of the property
/// `listed`; nullopt if both are missing or empty.
std::optional<std::string> first_of(udev_device& device, const char* own, const char* listed) {
    for (const auto* key : {own, listed})
        if (auto value = property_text(udev_device_get_property_value(&device, key));
            !value.empty())
            return value;
    return std::nullopt;
}

/// The render node that the DRM device represents; nullopt for cards and connectors.
std::optional<RenderNode> node_of(udev_device& device) {
    const auto path = property_text(udev_device_get_devnode(&device));
    auto* parent = udev_device_get_parent(&device);
    if (!path.starts_with("/dev/dri/render") || !parent)
        return std::nullopt;
    return RenderNode{
        .path = path,
        .path_tag = property_text(udev_device_get_property_value(&device, "ID_PATH_TAG")),
        .driver = property_text(udev_device_get_driver(parent)),
        .vendor = first_of(*parent, "SWITCHEROO_CONTROL_VENDOR_NAME", "ID_VENDOR_FROM_DATABASE"),
        .model = first_of(*parent, "SWITCHEROO_CONTROL_PRODUCT_NAME", "ID_MODEL_FROM_DATABASE"),
        .is_boot_display = property_text(udev_device_get_sysattr_value(parent, "boot_vga")) == "1"};
}

}  // namespace

std::vector<RenderNode> render_nodes() {
    std::vector<RenderNode> nodes;
    const Udev context{udev_new()};
    const UdevEnumerate all{context ? udev_enumerate_new(context.get()) : nullptr};
    if (!all || udev_enumerate_add_match_subsystem(all.get(), "drm") < 0 ||
        udev_enumerate_scan_devices(all.get()) < 0)
        return nodes;
    udev_list_entry* entry = nullptr;
    udev_list_entry_foreach(entry, udev_enumerate_get_list_entry(all.get())) {
        const UdevDevice device{
            udev_device_new_from_syspath(context.get(), udev_list_entry_get_name(entry))};
        if (auto node = device ? node_of(*device) : std::nullopt;
            node && nodes.size() < kMaxRenderNodes)
            nodes.push_back(std::move(*node));
    }
    return nodes;
}

}  // namespace gpuprobe::inline inventory
