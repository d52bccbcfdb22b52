// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inventory/scan.h"
#include "report/machine.h"

namespace gpuprobe::inline inventory {

/// The device nodes as one scan sees them.
class DeviceNodes {
public:
    /// `source` is borrowed for as long as this lives.
    explicit DeviceNodes(const NodeSource& source);

    /// False when the source lists none at all, as in a capture that did not record them: then a
    /// missing node proves nothing.
    [[nodiscard]] bool known() const { return known_; }
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const;
    /// The node as it is, or what is known about one that sysfs names and /dev lacks.
    [[nodiscard]] DeviceNode at(const std::string& path) const;
    /// The nodes that belong to a driver rather than to one device, as far as they exist: /dev/kfd,
    /// /dev/nvidiactl, /dev/dxg …
    [[nodiscard]] std::vector<DeviceNode> shared() const;

private:
    const NodeSource& source_;
    bool known_ = false;
};

constexpr std::size_t kMaxAccessList = 4096;  ///< bytes: 511 entries

/// The entries beyond owner and others in the bytes of the attribute system.posix_acl_access; empty
/// when the bytes are not such a list. Source: Linux, include/uapi/linux/posix_acl_xattr.h and
/// posix_acl.h, little-endian.
std::vector<AclEntry> access_list(std::string_view bytes);

}  // namespace gpuprobe::inline inventory
