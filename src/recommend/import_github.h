// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"
#include "base/value.h"

namespace gpuprobe {

/// A manifest made of another project's list, and what was left out of it.
struct ImportedManifest {
    Value manifest = {};                    ///< one that parse_manifest() takes
    std::vector<std::string> skipped = {};  ///< "name: why", in the order of the list
};

/// A GitHub release (as its API gives it) and an overlay (gpuprobe.overlay/1, docs/variants.md).
///
/// Errors: Malformed with the JSON path, for what is no release, no overlay, two files for one
/// variant, and for a manifest that would be refused; TooLarge over kMaxRelease.
Result<ImportedManifest> import_github(std::string_view release, std::string_view overlay);

constexpr Bytes kMaxRelease = mib(4);

/// Whether the text is the pattern, in which each `*` stands for any text.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace gpuprobe
