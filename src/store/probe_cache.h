// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/facts.h"
#include "store/checked_file.h"

namespace gpuprobe {

/// What was computed on a device, good for as long as that device and its driver have this
/// fingerprint, whatever becomes of the rest of the machine.
struct CachedTrial {
    std::string fingerprint = {};
    ProbeResult probe = {};
};

struct CachedAnswers {
    std::vector<ProbeResult> probes = {};  ///< of one fingerprint of the whole machine
    std::vector<CachedTrial> trials = {};
};

/// The answers of past probes on disk. Hardware and host are always read anew; only what drivers
/// said and devices computed is kept.
class ProbeCache {
public:
    /// `path`: the file; its folder must exist to save.
    explicit ProbeCache(std::string path);

    /// Errors: NotFound; Malformed or TooLarge (the file is then ignored, never repaired);
    /// PermissionDenied for a file of another owner, or one that others may write.
    /// Of a file of another fingerprint the trials alone: each has its own.
    [[nodiscard]] Result<CachedAnswers> load(std::string_view fingerprint) const;
    /// Errors: Io, PermissionDenied. The old file survives a failure.
    Status save(std::string_view fingerprint, const CachedAnswers& answers) const;

private:
    CheckedFile file_;
};

}  // namespace gpuprobe
