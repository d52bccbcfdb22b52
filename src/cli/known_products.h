// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/product_set.h"

namespace gpuprobe {

/// The manifests that are compiled in and the administrator's. What cannot be read is left out.
ProductSet known_products();

/// The manifest in a file. Errors: those of FileSystem::read() and parse_manifest(), with the path.
Result<Manifest> manifest_in(const std::string& path);
/// Its text. A relative path is one below the working directory. Errors: as FileSystem::read().
Result<std::string> manifest_text(const std::string& path);

}  // namespace gpuprobe
