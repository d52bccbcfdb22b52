// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/value.h"
#include "engine/machine.h"
#include "inventory/scan.h"

namespace gpuprobe::engine {

/// Writes a capture of `source` (docs/capture.md) into `folder`, which must be empty or not there:
/// the files that the scan reads, the nodes it looks at, and `probes` as they are. `redact`
/// replaces UUIDs and serial numbers as Redaction does. Errors: InvalidRequest when the folder is
/// not empty; Io, PermissionDenied.
Status write_capture(const std::string& folder,
                     const MachineSource& source,
                     const std::vector<ProbeResult>& probes,
                     WallTime now,
                     bool redact);

/// Replaces identifiers of individual cards by numbered stand-ins of the same form. Equal
/// identifiers get equal stand-ins, different ones different stand-ins.
class Redaction {
public:
    /// Replaces every UUID (8-4-4-4-12), every 16-digit hexadecimal word ("unique_id"), and the
    /// same number where KFD writes it in decimal.
    [[nodiscard]] std::string masked(std::string_view text);
    /// The same in every text of a document. Its numbers stay: none of them identifies a card.
    [[nodiscard]] Value masked_document(Value document);

private:
    /// The same number for the same identifier, counted from 1.
    [[nodiscard]] unsigned number_of(std::string_view identifier);
    [[nodiscard]] std::string stand_in(std::string_view unique_id);

    std::map<std::string, unsigned> known_ = {};
};

/// Reads from another file system and remembers what was read and looked at.
class RecordingFiles final : public FileSystem {
public:
    explicit RecordingFiles(std::shared_ptr<const FileSystem> files) : files_{std::move(files)} {}

    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes limit) const override;
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override;
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override;
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override;
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override;

    /// The content of each file that was read, by the path under which it was read.
    [[nodiscard]] const std::map<std::string, std::string>& contents() const { return contents_; }
    /// Every other path that was looked at and exists, including the entries of listed folders.
    [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }

private:
    template <class Found>
    Found noted(std::string_view path, Found found) const;

    std::shared_ptr<const FileSystem> files_;  // shared with the MachineSource that it records
    mutable std::map<std::string, std::string> contents_ = {};
    mutable std::set<std::string> seen_ = {};
};

/// The same for device nodes.
class RecordingNodes final : public NodeSource {
public:
    explicit RecordingNodes(std::shared_ptr<const NodeSource> nodes) : nodes_{std::move(nodes)} {}
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override;
    [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override;

    /// The nodes that were found, in the format of nodes.json.
    [[nodiscard]] Value document() const;

private:
    std::shared_ptr<const NodeSource> nodes_;  // shared: as above
    mutable std::map<std::string, DeviceNode> found_ = {};
};

}  // namespace gpuprobe::engine
