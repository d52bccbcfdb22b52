// SPDX-License-Identifier: Apache-2.0
#include "backends/drm/render_node.h"

#include <algorithm>

#include "backends/texts.h"
#include "base/parse.h"

namespace gpuprobe::backends {
namespace {

constexpr std::string_view kClass = "/sys/class/drm";
constexpr std::string_view kRender = "renderD";
constexpr std::string_view kCard = "card";
constexpr std::size_t kMaxNodes = 64;
constexpr int kMaxParents = 4;

std::string_view name_of(std::string_view path) {
    return path.substr(path.find_last_of('/') + 1);
}

std::string_view folder_of(std::string_view path) {
    return path.substr(0, path.find_last_of('/'));
}

bool is_numbered(std::string_view name, std::string_view prefix) {
    return name.starts_with(prefix) && parse_number<unsigned>(name.substr(prefix.size()));
}

std::string subsystem_of(const FileSystem& files, const std::string& folder) {
    const auto target = files.link_target(folder + "/subsystem");
    return target ? std::string{name_of(*target)} : std::string{};
}

/// "226:128" and nothing else.
std::optional<std::string> device_number(const FileSystem& files, const std::string& folder) {
    auto text = files.line(folder + "/dev");
    if (!text)
        return std::nullopt;
    const auto numbers = split(*text, ':');
    const bool is_pair = numbers.size() == 2 && parse_number<unsigned>(numbers[0]) &&
                         parse_number<unsigned>(numbers[1]);
    return is_pair ? text : std::nullopt;
}

/// The card node of the same device; a driver that only renders may have none.
std::optional<std::string> primary_number(const FileSystem& files, const std::string& device) {
    const auto names = files.list(device + "/drm");
    if (!names)
        return std::nullopt;
    for (const auto& name : *names)
        if (is_numbered(name, kCard))
            return device_number(files, device + "/drm/" + name);
    return std::nullopt;
}

std::optional<std::string> id_digits(const FileSystem& files, const std::string& path) {
    const auto text = files.line(path);
    const auto number = text ? parse_hex<std::uint32_t>(*text) : std::nullopt;
    return number ? pci_id_text(*number) : std::nullopt;
}

/// Climbs from the child that a bus inside the device made (virtio-gpu below virtio-pci, tegra's
/// DRM device below host1x) to the device itself, keeping every folder on the way.
void find_device(const FileSystem& files, std::string folder, RenderNode& node) {
    for (int step = 0; step < kMaxParents; ++step) {
        node.folders.push_back(folder);
        const auto subsystem = subsystem_of(files, folder);
        if (subsystem != "virtio" && subsystem != "host1x") {
            node.id =
                (subsystem.empty() ? "other" : subsystem) + ":" + scrubbed(name_of(folder), 128);
            if (subsystem == "pci")
                node.pci = parse_text(name_of(folder), std::type_identity<PciAddress>{});
            return;
        }
        folder = std::string{folder_of(folder)};
    }
}

std::optional<RenderNode> node_of(const FileSystem& files, const std::string& name) {
    const auto folder = std::string{kClass} + "/" + name;
    auto number = device_number(files, folder);
    const auto device = files.real_path(folder + "/device");
    if (!number || !device)
        return std::nullopt;
    RenderNode node{.path = "/dev/dri/" + name, .device_number = *number};
    node.drm.render = *number;
    node.drm.primary = primary_number(files, *device);
    find_device(files, *device, node);
    if (node.pci) {
        node.vendor_id = id_digits(files, node.folders.back() + "/vendor");
        node.device_id = id_digits(files, node.folders.back() + "/device");
    }
    return node;
}

}  // namespace

std::vector<RenderNode> render_nodes(const FileSystem& files) {
    std::vector<RenderNode> nodes;
    const auto names = files.list(kClass);
    if (!names)
        return nodes;
    for (const auto& name : *names) {
        if (!is_numbered(name, kRender) || nodes.size() == kMaxNodes)
            continue;
        if (auto node = node_of(files, name))
            nodes.push_back(*std::move(node));
    }
    return nodes;
}

bool is_asleep(const FileSystem& files, const RenderNode& node) {
    return std::ranges::any_of(node.folders, [&](const std::string& folder) {
        const auto status = files.line(folder + "/power/runtime_status");
        return status == "suspended" || status == "suspending";
    });
}

}  // namespace gpuprobe::backends
