// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "inventory/scan.h"

namespace gpuprobe {

/// Passes every question on to another tree and remembers what was asked and answered.
class RecordingFiles final : public FileSystem {
public:
    explicit RecordingFiles(std::shared_ptr<const FileSystem> files) : files_{std::move(files)} {}

    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes limit) const override;
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override;
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override;
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override;
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override;

    /// Files that were read, by the path they were asked for, and what they held.
    [[nodiscard]] const std::map<std::string, std::string>& contents() const { return contents_; }
    /// Every other path that was asked about and is there; a listed folder's entries too.
    [[nodiscard]] const std::set<std::string>& seen() const { return seen_; }

private:
    std::shared_ptr<const FileSystem> files_;  // shared: the source it records outlives no one else
    mutable std::map<std::string, std::string> contents_ = {};
    mutable std::set<std::string> seen_ = {};
};

class RecordingNodes final : public NodeSource {
public:
    explicit RecordingNodes(std::shared_ptr<const NodeSource> nodes) : nodes_{std::move(nodes)} {}
    [[nodiscard]] std::optional<DeviceNode> find(std::string_view path) const override;
    [[nodiscard]] std::vector<std::string> list(std::string_view folder) const override;

    /// The nodes that were found, in the form of nodes.json.
    [[nodiscard]] Value document() const;

private:
    std::shared_ptr<const NodeSource> nodes_;  // shared: as above
    mutable std::map<std::string, DeviceNode> found_ = {};
};

}  // namespace gpuprobe
