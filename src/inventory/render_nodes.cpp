// SPDX-License-Identifier: Apache-2.0
#include "inventory/render_nodes.h"

#include <string_view>

#include <libudev.h>

#include "base/files.h"
#include "base/text.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxRenderNodes = 256;
constexpr std::size_t kMaxProperty = 256;

using Udev = CHandle<udev, udev_unref>;
using UdevEnumerate = CHandle<udev_enumerate, udev_enumerate_unref>;
using UdevDevice = CHandle<udev_device, udev_device_unref>;

std::string property_text(const char* maybe) {
    return maybe ? scrubbed(maybe, kMaxProperty) : "";
}

/// The value of `own`, else of `listed`; nullopt if both are missing or empty.
std::optional<std::string> first_of(udev_device& device, const char* own, const char* listed) {
    for (const auto* key : {own, listed})
        if (auto value = property_text(udev_device_get_property_value(&device, key));
            !value.empty())
            return value;
    return std::nullopt;
}

/// The render node for a DRM device; nullopt for cards and connectors.
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
