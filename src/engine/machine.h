// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"
#include "base/units.h"
#include "engine/probe_results.h"
#include "inventory/scan.h"
#include "probe/target.h"
#include "report/facts.h"
#include "report/machine.h"

namespace gpuprobe::engine {

/// The source that the engine reads a machine from: the running machine, or a capture with recorded
/// probes.
struct MachineSource {
    std::shared_ptr<const FileSystem> files = {};  // shared with copies and recorders of the source
    std::shared_ptr<const NodeSource> nodes = {};
    std::optional<Host> host = {};  ///< from a capture; detected if absent
    /// Results from a capture; if absent, drivers are probed.
    std::optional<std::vector<ProbeResult>> recorded = {};
    std::optional<WallTime> recorded_at = {};
};

/// The running machine.
MachineSource live_machine();
/// Reads a capture folder (docs/capture.md). Errors: NotFound, Malformed, TooLarge, each with the
/// text "file: reason".
Result<MachineSource> replayed_machine(const std::string& folder);
/// Reads a capture whose metadata is in `files`, and the machine's own files (the capture's /root)
/// in `root`. Errors: as replayed_machine().
Result<MachineSource> captured_machine(const FileSystem& files,
                                       std::shared_ptr<const FileSystem> root);

/// A machine as last scanned, with the results of its drivers' probes.
struct ProbedMachine {
    MachineSource source = {};
    Machine hardware = {};
    TargetSearch search = {};
    ProbeResults results = {};

    [[nodiscard]] const FileSystem& files() const { return *source.files; }
    /// Whether this is a capture: its results are recorded and no probe runs.
    [[nodiscard]] bool is_replay() const { return source.recorded.has_value(); }
    /// Whether the machine still has that driver.
    [[nodiscard]] bool offers(const ProbeTarget& target) const;
    /// Scans the hardware and searches for drivers. Forgets the results of drivers that are gone.
    void scan(const TargetFolders& folders);
    /// The part of scan() that is needed to choose which drivers to probe: only PCI functions, and
    /// the search for drivers. Not for a capture.
    void scan_functions(const TargetFolders& folders);
    /// Reads the power state of the devices again.
    void refresh_power();
    /// A text that changes when drivers may report different results (fingerprint_of() in
    /// store/probe_history.h).
    [[nodiscard]] std::string fingerprint() const;
};

}  // namespace gpuprobe::engine
