// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "report/machine.h"

namespace gpuprobe::inline inventory {

constexpr std::size_t kMaxAccessList = 4096;  ///< bytes: 511 entries

/// The entries beyond owner and others in the bytes of the attribute system.posix_acl_access; empty
/// when the bytes are not such a list. Source: Linux, include/uapi/linux/posix_acl_xattr.h and
/// posix_acl.h, little-endian.
std::vector<AclEntry> access_list(std::string_view bytes);

}  // namespace gpuprobe::inline inventory
