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

/// Unsloth's llama-prebuilt-manifest.json, and the llama-prebuilt-sha256.json beside it, which also
/// says where the files are. What is not for Linux, or does not say what it needs, is left out.
///
/// Source: unslothai/unsloth, studio/install_llama_prebuilt.py. Errors: as import_github().
Result<ImportedManifest> import_unsloth(std::string_view list, std::string_view hashes);

/// LocalAI's backend/index.yaml: the images of the backend of that name, by capability; without a
/// name, of the only one that the list has. What no GPU known on Linux stands for is left out.
///
/// Source: mudler/LocalAI@82c191af. Errors: TooLarge over kMaxRelease; Malformed with the line, for
/// what is no YAML or over the limits of yaml_tree.h, with the entry for what is no list of
/// backends, and for a manifest that would be refused.
Result<ImportedManifest> import_localai(std::string_view index, std::string_view name);

constexpr Bytes kMaxRelease = mib(4);

/// Whether the text is the pattern, in which each `*` stands for any text.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace gpuprobe
