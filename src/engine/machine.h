// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/result.h"
#include "engine/probe_results.h"
#include "inventory/scan.h"
#include "probe/target.h"
#include "report/facts.h"
#include "report/machine.h"

namespace gpuprobe::engine {

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

/// A machine as it was last scanned, and what its drivers have reported.
struct ProbedMachine {
    MachineSource source = {};
    Machine hardware = {};
    TargetSearch search = {};
    ProbeResults results = {};

    [[nodiscard]] const FileSystem& files() const { return *source.files; }
    /// Whether this is a capture: its results are recorded, and no probe runs.
    [[nodiscard]] bool is_replay() const { return source.recorded.has_value(); }
    /// Whether the machine still has that driver.
    [[nodiscard]] bool offers(const ProbeTarget& target) const;
    /// Scans the hardware and searches for drivers. Results of drivers that are gone are forgotten.
    void scan(const TargetFolders& folders);
    /// The part of scan() that tells which drivers may be asked: of the hardware, PCI's functions
    /// alone. Not for a capture.
    void scan_functions(const TargetFolders& folders);
    /// Brings the power state of the devices up to date.
    void refresh_power();
    /// Changes when drivers may report something else (fingerprint_of() in store/probe_cache.h).
    [[nodiscard]] std::string fingerprint() const;
};

}  // namespace gpuprobe::engine
