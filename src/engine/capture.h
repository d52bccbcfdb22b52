// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/units.h"
#include "base/value.h"
#include "engine/probed_machine.h"
#include "inventory/scan.h"

namespace gpuprobe::engine {

class Redaction;

/// Writes a capture of `source` (docs/internals/capture.md) into `folder`, which must be empty or
/// missing. A capture contains the files that the scan reads, the nodes that it examines, and
/// `probes`. If `mask` isn't null, identifiers in files and in their names are replaced, and files
/// with much unrelated content are reduced to the part that the scan uses. Errors: InvalidRequest
/// if the folder isn't empty; Io or PermissionDenied.
Status write_capture(const std::string& folder,
                     const MachineSource& source,
                     const std::vector<ProbeResult>& probes,
                     const DriverVariables& variables,
                     WallTime now,
                     Redaction* mask);

/// Forwards to another file system and records which paths were read or examined.
class RecordingFiles final : public FileSystem {
public:
    explicit RecordingFiles(std::shared_ptr<const FileSystem> files) : files_{std::move(files)} {}

    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes limit) const override;
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override;
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override;
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override;
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override;

    /// The content of each file that was read; the key is the path that was used.
    [[nodiscard]] const std::map<std::string, std::string>& contents() const { return contents_; }
    /// Every other existing path that was examined, including the entries of listed folders.
    [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }

private:
    template <class Found>
    Found noted(std::string_view path, Found found) const;

    std::shared_ptr<const FileSystem> files_;  // shared with the recorded MachineSource
    mutable std::map<std::string, std::string> contents_ = {};
    mutable std::set<std::string> seen_ = {};
};

/// Forwards to another source of device nodes and records the nodes that were found.
class RecordingNodes final : public NodeSource {
public:
    explicit RecordingNodes(std::shared_ptr<const NodeSource> nodes) : nodes_{std::move(nodes)} {}
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override;
    [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override;

    /// The recorded nodes, in the format of nodes.json.
    [[nodiscard]] Value document() const;

private:
    std::shared_ptr<const NodeSource> nodes_;  // shared with the recorded MachineSource
    mutable std::map<std::string, DeviceNode> found_ = {};
};

}  // namespace gpuprobe::engine
