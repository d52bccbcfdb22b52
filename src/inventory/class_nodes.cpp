// SPDX-License-Identifier: Apache-2.0
#include "inventory/class_nodes.h"

#include <array>

#include "base/text.h"
#include "inventory/device_folder.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxClassNodes = 1024;
constexpr int kMaxParents = 8;
constexpr std::uint32_t kDrmMajor = 226;    // include/uapi/linux/major.h, DRM_MAJOR
constexpr std::uint32_t kAccelMajor = 261;  // Documentation/admin-guide/devices.txt

/// How the nodes of one kind are named, and where they are in sysfs and /dev.
struct KindOfName {
    ClassNodeKind kind;
    std::string_view prefix;
    std::string_view class_folder;
    std::string_view node_folder;
    std::uint32_t major;
};
constexpr std::array<KindOfName, 3> kKinds{{
    {ClassNodeKind::Card, "card", "/sys/class/drm", "/dev/dri/", kDrmMajor},
    {ClassNodeKind::Render, "renderD", "/sys/class/drm", "/dev/dri/", kDrmMajor},
    {ClassNodeKind::Accel, "accel", "/sys/class/accel", "/dev/accel/", kAccelMajor},
}};

/// The number after `prefix`: 128 for "renderD128". nullopt for other names, such as connectors
/// ("card0-HDMI-A-1").
std::optional<std::uint32_t> number_behind(std::string_view prefix, std::string_view name) {
    if (!name.starts_with(prefix))
        return std::nullopt;
    return parse_number<std::uint32_t>(name.substr(prefix.size()));
}

/// The device number "226:128" from `dev`, else the uevent, else the name, whose number is the
/// minor device number (drivers/gpu/drm/drm_drv.c, drm_minor_alloc).
std::string device_number(const Sysfs& sysfs,
                          const std::string& folder,
                          std::string_view name,
                          const KindOfName& kind) {
    if (auto dev = sysfs.text(folder + "/dev"))
        return *dev;
    const auto uevent = sysfs.key_values(folder + "/uevent");
    const auto major = uevent.find("MAJOR");
    const auto minor = uevent.find("MINOR");
    if (major != uevent.end() && minor != uevent.end())
        return major->second + ":" + minor->second;
    return std::to_string(kind.major) + ":" + std::string{name.substr(kind.prefix.size())};
}

/// Sets `parent` to the device itself. The class member's parent may be a child that a bus inside
/// the device has created (virtio_gpu below virtio-pci, tegra's "drm" below host1x, nova-drm on the
/// auxiliary bus), so climb past such buses.
void find_parent(const Sysfs& sysfs, const std::string& folder, ClassNode& node) {
    const auto linked = sysfs.resolved(folder + "/device");
    auto path = linked ? linked : sysfs.resolved(folder);
    node.parent = path.value_or(folder);
    for (int step = 0; step < kMaxParents; ++step) {
        const DeviceFolder here{sysfs, node.parent};
        const auto subsystem = here.subsystem();
        if (subsystem != "virtio" && subsystem != "host1x" && subsystem != "auxiliary")
            return;
        node.parent = std::string{folder_of(node.parent)};
    }
}

/// True if any connector ("card0-HDMI-A-1" …) of the card is connected; nullopt for a card without
/// connectors.
std::optional<bool> connected(const Sysfs& sysfs,
                              const std::vector<std::string>& names,
                              const std::string& card) {
    std::optional<bool> any;
    for (const auto& name : names) {
        if (!name.starts_with(card + "-"))
            continue;
        const auto status = sysfs.text("/sys/class/drm/" + name + "/status");
        if (status)
            any = any.value_or(false) || *status == "connected";
    }
    return any;
}

/// Sets the facts that only cards have.
void fill_card(const Sysfs& sysfs,
               const std::vector<std::string>& names,
               const std::string& folder,
               ClassNode& node) {
    node.connected = connected(sysfs, names, node.name);
    if (const auto flag = sysfs.text(folder + "/boot_display"))
        node.boot_display = *flag == "1";
}

/// Adds the nodes of one kind.
void add_nodes(const Sysfs& sysfs, const KindOfName& kind, std::vector<ClassNode>& nodes) {
    const std::string class_folder{kind.class_folder};
    const auto names = sysfs.names(class_folder);
    for (const auto& name : names) {
        if (!number_behind(kind.prefix, name))
            continue;
        if (nodes.size() == kMaxClassNodes)
            return sysfs.note(class_folder + ": too many nodes");
        const auto folder = class_folder + "/" + name;
        if (sysfs.link_name(folder) && !sysfs.resolved(folder))
            continue;  // a dangling link: the device has just been removed
        ClassNode node{
            .kind = kind.kind, .name = name, .device = device_number(sysfs, folder, name, kind)};
        find_parent(sysfs, folder, node);
        if (kind.kind == ClassNodeKind::Card)
            fill_card(sysfs, names, folder, node);
        nodes.push_back(std::move(node));
    }
}

const KindOfName& row_of(ClassNodeKind kind) {
    for (const auto& row : kKinds)
        if (row.kind == kind)
            return row;
    return kKinds.front();
}

}  // namespace

std::string ClassNode::path() const {
    return std::string{row_of(kind).node_folder} + name;
}

std::optional<std::uint32_t> ClassNode::minor() const {
    return number_behind(row_of(kind).prefix, name);
}

std::vector<ClassNode> class_nodes(const Sysfs& sysfs) {
    std::vector<ClassNode> nodes;
    for (const auto& kind : kKinds)
        add_nodes(sysfs, kind, nodes);
    return nodes;
}

}  // namespace gpuprobe::inline inventory
