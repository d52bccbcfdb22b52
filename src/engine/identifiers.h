// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace gpuprobe::engine {

/// The names of a machine and its users, and serial numbers and addresses of its parts.
struct Identifiers {
    std::vector<std::string> users = {};    ///< names of users' accounts
    std::vector<std::string> homes = {};    ///< their home folders
    std::vector<std::string> hosts = {};    ///< names of this host and of its domains
    std::vector<std::string> numbers = {};  ///< machine-id, serial numbers, addresses, SSIDs …
};

/// The identifiers of this machine: accounts from uid 1000 on, the user who runs this program or
/// called sudo; from `files` the host names, machine-id and boot-id, and the serial numbers and
/// addresses of firmware, disks and network cards. Leaves out files that can't be read.
Identifiers identifiers_of(const FileSystem& files);

}  // namespace gpuprobe::engine
