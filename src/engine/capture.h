// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"

namespace gpuprobe {

/// Writes a capture of `source` (docs/capture.md) into `folder`, which must be empty or not there:
/// the files that the scan reads, the nodes it looks at, and `probes` as they are. With `redact`,
/// UUIDs and serial numbers become numbered stand-ins: equal ones stay equal, different ones stay
/// different. Errors: InvalidRequest when the folder holds something; Io, PermissionDenied.
Status write_capture(const std::string& folder,
                     const MachineSource& source,
                     const std::vector<ProbeResult>& probes,
                     WallTime now,
                     bool redact);

}  // namespace gpuprobe
