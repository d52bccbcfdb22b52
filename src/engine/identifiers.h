// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/files.h"

namespace gpuprobe::engine {

/// What this machine, its parts and its users are called.
struct Identifiers {
    std::vector<std::string> users = {};    ///< names of people's accounts
    std::vector<std::string> homes = {};    ///< their home folders
    std::vector<std::string> hosts = {};    ///< names of this host and of its domains
    std::vector<std::string> numbers = {};  ///< machine-id, serial numbers, addresses, SSIDs …
};

/// Those of this machine: of accounts from uid 1000 on, of who runs this program or called sudo;
/// what `files` hold of host names, machine-id and boot-id, and of serial numbers and addresses of
/// the firmware, disks and network cards. What can't be read is left out.
Identifiers identifiers_of(const FileSystem& files);

}  // namespace gpuprobe::engine
