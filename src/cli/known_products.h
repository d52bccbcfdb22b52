// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "policy/product_set.h"

namespace gpuprobe {

/// The manifests that are compiled in and the administrator's. What cannot be read is left out.
ProductSet known_products();

/// The manifest in a file. Errors: those of manifest_text() and parse_manifest(), with the path.
Result<Manifest> manifest_in(const std::string& path);
/// The text of a file or of a pipe, of at most kMaxManifest; "-" is standard input. A pipe gives it
/// once only. Errors: TooLarge; Io and what opening and reading say, with the path.
Result<std::string> manifest_text(const std::string& path);

}  // namespace gpuprobe
