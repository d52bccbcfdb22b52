// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "report/facts.h"
#include "report/machine.h"
#include "store/checked_file.h"

namespace gpuprobe::store {

/// A fingerprint of the machine: cached probe results are valid as long as it stays the same. It
/// covers our version, the kernel release, each device with its driver, version, partitions and
/// nodes, and the path, inode, size and modification time of every file in `watched` (manifests,
/// the dynamic linker's cache). A reboot does not change it.
std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched);

/// A fingerprint of one driver as it is installed: our version, the kernel release, each device
/// that the driver serves with its kernel driver and that driver's version, and the `watched` files
/// as above. Nodes are left out, because they come and go while a machine boots.
std::string driver_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                  const std::optional<std::string>& kernel,
                                  const FileSystem& files,
                                  const std::vector<std::string>& watched);

/// A fingerprint for verifications and measurements, which are valid as long as it stays the same:
/// driver_fingerprint_of() plus the devices' partitions. Without a device, the processor computes,
/// and the fingerprint has its model.
std::string trial_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                 const Host& host,
                                 const FileSystem& files,
                                 const std::vector<std::string>& watched);

/// The result of a verification or measurement. It is valid as long as its device and driver have
/// this fingerprint, even if the rest of the machine changes.
struct CachedTrial {
    std::string fingerprint = {};
    ProbeResult probe = {};
};

struct CachedProbes {
    std::vector<ProbeResult> queries = {};  ///< all from one fingerprint of the whole machine
    std::vector<CachedTrial> trials = {};
};

/// The results of past probes, on disk. Only probe results, verifications and measurements are
/// cached; hardware and host are always read again.
class ProbeCache {
public:
    /// `path`: the file; its folder must exist to save.
    explicit ProbeCache(std::string path);

    /// The cached results. If the file has another fingerprint, only the trials are returned,
    /// because each trial has its own fingerprint. Errors: NotFound; Malformed or TooLarge (the
    /// file is then ignored, never repaired); PermissionDenied for a file that another user owns or
    /// can write.
    [[nodiscard]] Result<CachedProbes> load(std::string_view fingerprint) const;
    /// Replaces the file. Errors: Io, PermissionDenied. The old file survives a failure.
    Status save(std::string_view fingerprint, const CachedProbes& probes) const;

private:
    CheckedFile file_;
};

}  // namespace gpuprobe::store
