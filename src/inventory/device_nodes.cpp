// SPDX-License-Identifier: Apache-2.0
#include "inventory/device_nodes.h"

#include <array>

#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::array<const char*, 5> kSharedNodes{"/dev/kfd", "/dev/nvidiactl", "/dev/nvidia-uvm",
                                                  "/dev/nvidia-modeset", "/dev/dxg"};

bool lists_any(const NodeSource& source) {
    for (const auto* folder : {"/dev", "/dev/dri", "/dev/accel"})
        if (!source.list(folder).empty())
            return true;
    return false;
}

constexpr std::size_t kHeaderSize = 4;
constexpr std::size_t kEntrySize = 8;
constexpr std::uint32_t kVersion = 2;

/// The values of e_tag for entries that a mode has no place for.
std::string_view tag_name(std::uint32_t tag) {
    switch (tag) {
        case 0x02:
            return "user";
        case 0x04:
            return "owning-group";
        case 0x08:
            return "group";
        case 0x10:
            return "mask";
        default:
            return "";
    }
}

std::uint32_t number_in(std::string_view bytes) {
    return static_cast<std::uint32_t>(little_endian(bytes));
}

}  // namespace

DeviceNodes::DeviceNodes(const NodeSource& source) : source_{source}, known_{lists_any(source)} {}

std::optional<DeviceNode> DeviceNodes::find(std::string_view path) const {
    return source_.find(path);
}

DeviceNode DeviceNodes::at(const std::string& path) const {
    if (auto found = source_.find(path))
        return std::move(*found);
    DeviceNode node;
    node.path = path;
    if (known_) {
        node.accessible = false;
        node.reason = "missing";
    }
    return node;
}

std::vector<DeviceNode> DeviceNodes::shared() const {
    std::vector<DeviceNode> found;
    for (const auto* path : kSharedNodes)
        if (auto node = source_.find(path))
            found.push_back(std::move(*node));
    return found;
}

std::vector<AclEntry> access_list(std::string_view bytes) {
    if (bytes.size() < kHeaderSize || (bytes.size() - kHeaderSize) % kEntrySize != 0 ||
        number_in(bytes.substr(0, kHeaderSize)) != kVersion)
        return {};
    std::vector<AclEntry> entries;
    for (auto at = kHeaderSize; at < bytes.size(); at += kEntrySize) {
        const auto tag = tag_name(number_in(bytes.substr(at, 2)));
        if (tag.empty())
            continue;
        AclEntry entry{.tag = std::string{tag}, .mode = number_in(bytes.substr(at + 2, 2)) & 7U};
        if (tag == "user" || tag == "group")
            entry.id = number_in(bytes.substr(at + 4, 4));
        entries.push_back(std::move(entry));
    }
    return entries;
}

}  // namespace gpuprobe::inline inventory
