// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/manifest.h"

namespace gpuprobe {

/// The manifests that are installed, by product. Read when asked for: most are never needed.
class ProductSet {
public:
    /// Those that are compiled in.
    static ProductSet with_builtins();

    /// Adds a manifest, or replaces the one of the same name. Errors: as parse_manifest(), with
    /// `origin` in front; Malformed for one without a name, TooLarge over kMaxProducts. Nothing has
    /// changed then.
    Status add(std::string json, std::string_view origin);

    /// Errors: NotFound, with the names there are; as parse_manifest().
    [[nodiscard]] Result<Manifest> find(std::string_view product) const;
    /// Sorted.
    [[nodiscard]] std::vector<std::string> names() const;

private:
    std::map<std::string, std::string_view, std::less<>> builtins_ = {};  ///< texts for ever
    std::map<std::string, std::string, std::less<>> added_ = {};
};

constexpr std::size_t kMaxProducts = 256;

}  // namespace gpuprobe
