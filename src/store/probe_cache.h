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

/// A text that stays the same exactly as long as cached probe results still hold: our version, the
/// kernel release, each device with its driver, version, partitions and nodes, and path, inode,
/// size and time of every file in `watched` (manifests, the dynamic linker's cache). A reboot alone
/// does not change it.
std::string fingerprint_of(const Machine& machine,
                           const FileSystem& files,
                           const std::vector<std::string>& watched);

/// A text that stays the same exactly as long as a driver does: our version, the kernel release,
/// each device that it drives with its kernel driver and that driver's version, and the `watched`
/// files as above. Nodes are left out, because they come and go while a machine boots.
std::string driver_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                  const std::optional<std::string>& kernel,
                                  const FileSystem& files,
                                  const std::vector<std::string>& watched);

/// A text that stays the same exactly as long as what a device computed still tells what it
/// computes: driver_fingerprint_of() with the devices' partitions. Without a device the processor
/// computes, and its model counts.
std::string trial_fingerprint_of(const std::vector<const HardwareDevice*>& devices,
                                 const Host& host,
                                 const FileSystem& files,
                                 const std::vector<std::string>& watched);

/// The result of a verification or measurement, valid as long as its device and driver have this
/// fingerprint, whatever happens to the rest of the machine.
struct CachedTrial {
    std::string fingerprint = {};
    ProbeResult probe = {};
};

struct CachedProbes {
    std::vector<ProbeResult> queries = {};  ///< all from one fingerprint of the whole machine
    std::vector<CachedTrial> trials = {};
};

/// The results of past probes on disk. Hardware and host are always read again; only what drivers
/// reported and devices computed is kept.
class ProbeCache {
public:
    /// `path`: the file; its folder must exist to save.
    explicit ProbeCache(std::string path);

    /// From a file with another fingerprint the trials alone, which have fingerprints of their own.
    /// Errors: NotFound; Malformed or TooLarge (the file is then ignored, never repaired);
    /// PermissionDenied for a file of another owner, or one that others may write.
    [[nodiscard]] Result<CachedProbes> load(std::string_view fingerprint) const;
    /// Errors: Io, PermissionDenied. The old file survives a failure.
    Status save(std::string_view fingerprint, const CachedProbes& probes) const;

private:
    CheckedFile file_;
};

}  // namespace gpuprobe::store
