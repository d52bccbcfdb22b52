// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/accounts.h"
#include "base/handle.h"
#include "inventory/device_nodes.h"
#include "inventory/scan.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr std::size_t kMaxListed = 4096;

using Directory = CHandle<DIR, closedir>;

/// The name of a group, or its number where it has no name.
std::string group_text(gid_t id) {
    return group_name(id).value_or(std::to_string(id));
}

/// Empty where the node has no list, or its file system does not support them.
std::vector<AclEntry> node_acl(const std::string& path) {
    char list[kMaxAccessList];
    const auto size = ::getxattr(path.c_str(), "system.posix_acl_access", list, sizeof list);
    return size > 0 ? access_list({list, static_cast<std::size_t>(size)}) : std::vector<AclEntry>{};
}

bool is_node(const std::string& path) {
    struct stat info = {};
    return ::stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode);
}

}  // namespace

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
    if (prober_) {
        node.accessible = may_open(node, *prober_);
        if (node.accessible == false)
            node.reason = "no-permission";
        return node;
    }
    node.accessible = ::faccessat(AT_FDCWD, node.path.c_str(), R_OK | W_OK, AT_EACCESS) == 0;
    if (!*node.accessible)
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
        if (found.size() < kMaxListed && is_node(inside))
            found.push_back(std::move(inside));
    }
    std::ranges::sort(found);
    return found;
}

}  // namespace gpuprobe::inline inventory
