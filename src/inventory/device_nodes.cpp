// SPDX-License-Identifier: Apache-2.0
#include "inventory/device_nodes.h"

#include <algorithm>
#include <array>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "inventory/scan.h"
#include "inventory/sysfs.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxClassNodes = 1024;
constexpr int kMaxParents = 8;
constexpr std::uint32_t kDrmMajor = 226;    // include/uapi/linux/major.h, DRM_MAJOR
constexpr std::uint32_t kAccelMajor = 261;  // Documentation/admin-guide/devices.txt

/// The names of the nodes of one kind, and their folders in sysfs and /dev.
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

/// The number that follows `prefix`, such as 128 for "renderD128"; nullopt for other names, such as
/// those of connectors ("card0-HDMI-A-1").
std::optional<std::uint32_t> number_behind(std::string_view prefix, std::string_view name) {
    if (!name.starts_with(prefix))
        return std::nullopt;
    return parse_number<std::uint32_t>(name.substr(prefix.size()));
}

/// A device number such as "226:128" from the file `dev`, otherwise from the uevent, otherwise from
/// the name: the number in the name is the minor device number (drivers/gpu/drm/drm_drv.c,
/// drm_minor_alloc).
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

/// Sets `parent` to the folder of the physical device. The parent of a class member may be a child
/// device that a bus inside the physical device has created (virtio_gpu below virtio-pci, tegra's
/// "drm" below host1x, nova-drm on the auxiliary bus), so climb past such buses.
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

/// True if any connector of the card, such as "card0-HDMI-A-1", is connected; nullopt for a card
/// without connectors.
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

/// Adds the nodes of one kind, such as render nodes. `names` are the names of all entries in the
/// folder of the class.
void add_nodes(const Sysfs& sysfs,
               const KindOfName& kind,
               const std::vector<std::string>& names,
               std::vector<ClassNode>& nodes) {
    const std::string class_folder{kind.class_folder};
    for (const auto& name : names) {
        if (!number_behind(kind.prefix, name))
            continue;
        if (nodes.size() == kMaxClassNodes)
            return sysfs.note(class_folder + ": too many nodes");
        const auto folder = class_folder + "/" + name;
        if (sysfs.link_name(folder) && !sysfs.resolved(folder))
            continue;  // a dangling link, because the device has just been removed
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

std::vector<ClassNode> class_nodes(const Sysfs& sysfs) {
    std::vector<ClassNode> nodes;
    std::string_view listed;  // cards and render nodes share a folder
    std::vector<std::string> names;
    for (const auto& kind : kKinds) {
        if (listed != kind.class_folder)
            names = sysfs.names(std::string{kind.class_folder});
        listed = kind.class_folder;
        add_nodes(sysfs, kind, names, nodes);
    }
    return nodes;
}

namespace {

constexpr std::array<const char*, 5> kSharedNodes{"/dev/kfd", "/dev/nvidiactl", "/dev/nvidia-uvm",
                                                  "/dev/nvidia-modeset", "/dev/dxg"};

/// True if the source has at least one node. A capture without nodes.json has no nodes.
bool lists_any(const NodeSource& source) {
    for (const auto* folder : {"/dev", "/dev/dri", "/dev/accel"})
        if (!source.list(folder).empty())
            return true;
    return false;
}

// Layout of system.posix_acl_access: a version, then entries of tag, permissions and id.
constexpr std::size_t kHeaderSize = 4;
constexpr std::size_t kEntrySize = 8;
constexpr std::uint32_t kVersion = 2;

/// The name for an e_tag value; "" for the owner and for others, whose permissions are in the mode.
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

constexpr std::size_t kMaxListed = 4096;

using Directory = CHandle<DIR, closedir>;

/// The name of a group; the group's number if the group has no name.
std::string group_text(gid_t id) {
    return group_name(id).value_or(std::to_string(id));
}

/// The node's access control list; empty if the node has no list or if its file system does not
/// support such lists.
std::vector<AclEntry> node_acl(const std::string& path) {
    char list[kMaxAccessList];
    const auto size = ::getxattr(path.c_str(), "system.posix_acl_access", list, sizeof list);
    return size > 0 ? access_list({list, static_cast<std::size_t>(size)}) : std::vector<AclEntry>{};
}

/// True if the entry is a character device.
bool is_node(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
}

constexpr Bytes kMaxDocument = mib(1);
constexpr std::size_t kMaxNodes = 4096;

/// One entry of nodes.json.
struct NodeRecord {
    std::optional<std::uint32_t> major = {};
    std::optional<std::uint32_t> minor = {};
    std::optional<std::uint32_t> mode = {};
    std::optional<std::uint32_t> uid = {};
    std::optional<std::uint32_t> gid = {};
    std::vector<AclEntry> acl = {};
    Value group = {};  ///< name of the group, or its number if the group had no name
    std::optional<bool> accessible = {};
    std::optional<std::string> reason = {};
};
RECORD_MEMBERS(NodeRecord, major, minor, mode, uid, gid, acl, group, accessible, reason)

/// Converts a group in nodes.json, which is a name or a number, to a string.
std::optional<std::string> group_from(const Value& group) {
    if (const auto* name = group.as_string())
        return *name;
    const auto number = group.as_unsigned();
    return number ? std::optional{std::to_string(*number)} : std::nullopt;
}

/// Converts an entry of nodes.json.
DeviceNode node_from(const std::string& path, const NodeRecord& record) {
    DeviceNode node{.path = path,
                    .uid = record.uid,
                    .gid = record.gid,
                    .group = group_from(record.group),
                    .acl = record.acl,
                    .accessible = record.accessible,
                    .reason = record.reason};
    if (record.mode)
        node.mode = *record.mode & 07777U;
    if (record.major && record.minor)
        node.device = std::to_string(*record.major) + ":" + std::to_string(*record.minor);
    if (record.accessible == false && !node.reason)
        node.reason = "no-permission";
    return node;
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
        // An entry is a tag (2 bytes), permissions (2 bytes) and the id of a user or group (4
        // bytes).
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

std::optional<DeviceNode> LiveNodes::find(std::string_view path) const {
    DeviceNode node{.path = std::string{path}};
    struct stat info = {};
    if (::stat(node.path.c_str(), &info) != 0 || !S_ISCHR(info.st_mode))
        return std::nullopt;
    node.device = std::to_string(major(info.st_rdev)) + ":" + std::to_string(minor(info.st_rdev));
    node.mode = info.st_mode & 07777U;
    node.uid = info.st_uid;
    node.gid = info.st_gid;
    node.acl = node_acl(node.path);
    node.group = group_text(info.st_gid);
    // faccessat() checks only the access of this process, so compute another user's access from the
    // mode and the access control list.
    if (prober_) {
        node.accessible = may_open(node, *prober_);
        if (node.accessible == false)
            node.reason = "no-permission";
        return node;
    }
    node.accessible = ::faccessat(AT_FDCWD, node.path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
    if (!*node.accessible)
        // The node may have disappeared since stat().
        node.reason = errno == ENOENT ? "missing" : "no-permission";
    return node;
}

std::vector<std::string> LiveNodes::list(std::string_view folder) const {
    const std::string path{folder};
    const Directory directory{::opendir(path.c_str())};
    std::vector<std::string> found;
    if (!directory)
        return found;
    while (const auto* entry = ::readdir(directory.get())) {
        auto inside = path + "/" + entry->d_name;
        // Most file systems report the type in the directory entry, which saves a system call for
        // each of the many terminals in /dev.
        const bool needs_look = entry->d_type == DT_UNKNOWN || entry->d_type == DT_LNK;
        if (found.size() < kMaxListed && (needs_look ? is_node(inside) : entry->d_type == DT_CHR))
            found.push_back(std::move(inside));
    }
    std::ranges::sort(found);
    return found;
}

Result<RecordedNodes> RecordedNodes::parse(std::string_view json) {
    const auto document = TRY(parse_json(json, kMaxDocument));
    const auto* members = document.as_object();
    if (!members)
        return Error{ErrorCode::Malformed, wrong_type(document, "object")};
    if (members->size() > kMaxNodes)
        return Error{ErrorCode::TooLarge, "more than " + std::to_string(kMaxNodes) + " nodes"};
    RecordedNodes recorded;
    for (const auto& [path, value] : *members) {
        if (!path.starts_with("/dev/"))
            return Error{ErrorCode::Malformed, path + ": not below /dev"};
        auto record = record_from<NodeRecord>(value);
        if (!record)
            return std::move(record).error().in(path);
        recorded.nodes_.emplace(path, node_from(path, *record));
    }
    return recorded;
}

std::optional<DeviceNode> RecordedNodes::find(std::string_view path) const {
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? std::nullopt : std::optional{found->second};
}

std::vector<std::string> RecordedNodes::list(std::string_view folder) const {
    std::vector<std::string> found;
    const auto prefix = std::string{folder} + "/";
    for (const auto& [path, node] : nodes_)
        // List only direct children, as a real folder does.
        if (path.starts_with(prefix) && path.find('/', prefix.size()) == std::string::npos)
            found.push_back(path);
    return found;
}

}  // namespace gpuprobe::inline inventory
