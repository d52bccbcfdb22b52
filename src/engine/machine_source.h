// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "inventory/scan.h"
#include "report/facts.h"

namespace gpuprobe {

/// Where the engine reads a machine from: the running one, or a capture with recorded probes.
struct MachineSource {
    std::shared_ptr<const FileSystem> files = {};  // shared by whoever records or copies the source
    std::shared_ptr<const NodeSource> nodes = {};
    std::optional<Host> host = {};  ///< from a capture; detected when absent
    /// From a capture; when absent, drivers are probed.
    std::optional<std::vector<ProbeResult>> recorded = {};
    std::optional<WallTime> recorded_at = {};
};

/// The running machine.
MachineSource live_machine();
/// A capture folder (docs/capture.md). Errors: NotFound, Malformed, TooLarge, each "file: reason".
Result<MachineSource> replayed_machine(const std::string& folder);
/// The same, where `root` holds the machine's own files, which are below the capture's /root.
Result<MachineSource> captured_machine(const FileSystem& files,
                                       std::shared_ptr<const FileSystem> root);

}  // namespace gpuprobe
