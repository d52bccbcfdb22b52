// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/facts.h"
#include "state/checked_file.h"

namespace gpuprobe {

/// The answers of past probes on disk, valid for one fingerprint of the machine. Hardware and host
/// are always read anew; only what drivers said is kept.
class ProbeCache {
public:
    /// `path`: the file; its folder must exist to save.
    explicit ProbeCache(std::string path);

    /// Errors: NotFound; Malformed or TooLarge (the file is then ignored, never repaired);
    /// PermissionDenied for a file of another owner, or one that others may write.
    /// A file of another fingerprint or format version is NotFound.
    [[nodiscard]] Result<std::vector<ProbeResult>> load(std::string_view fingerprint) const;
    /// Errors: Io, PermissionDenied. The old file survives a failure.
    Status save(std::string_view fingerprint, const std::vector<ProbeResult>& probes) const;

private:
    CheckedFile file_;
};

}  // namespace gpuprobe
