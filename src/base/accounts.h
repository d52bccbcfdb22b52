// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include <sys/types.h>

/// Names of accounts as this machine knows them (nsswitch.conf(5)); the portable program, which can
/// load nothing, knows those of /etc/passwd and /etc/group.
namespace gpuprobe::inline base {

inline constexpr uid_t kRoot = 0;

std::optional<std::string> user_name(uid_t id);
std::optional<std::string> group_name(gid_t id);

}  // namespace gpuprobe::inline base
