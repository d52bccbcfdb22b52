// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "report/machine.h"

namespace gpuprobe {

/// A text that is equal exactly when cached driver answers still hold: our version, kernel release,
/// each device with its driver, version, partitions and nodes, and path, inode, size and time of
/// every file in `watched` (manifests, the dynamic linker's cache). A new boot alone changes
/// nothing.
std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched,
                           std::string_view program_version);

/// A text that is equal exactly while a driver is the one that it was: our version, kernel release,
/// each device that it drives with its kernel driver and that one's version, and path, inode, size
/// and time of every file in `watched`. Nodes are not in it: they come and go while a machine
/// boots.
std::string driver_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                  const std::optional<std::string>& kernel,
                                  const FileSystem& files,
                                  const std::vector<std::string>& watched,
                                  std::string_view program_version);

/// A text that is equal exactly while what a device computed still tells what it computes: our
/// version, kernel release, the devices with their kernel drivers, those drivers' versions and
/// their partitions, and path, inode, size and time of every file in `watched`. Without a device it
/// is the processor that computes, and its model counts.
std::string trial_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                 const Host& host,
                                 const FileSystem& files,
                                 const std::vector<std::string>& watched,
                                 std::string_view program_version);

}  // namespace gpuprobe
