// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"
#include "base/units.h"
#include "engine/knowledge_folders.h"
#include "knowledge/bundle.h"

/// Installs bundles of data files on a machine. The daemon uses none of it.
namespace gpuprobe::engine {

/// A bundle that may be installed, with its signer.
struct CheckedBundle {
    knowledge::Bundle bundle = {};
    std::string key = {};                          ///< file name of the key that signed it
    std::shared_ptr<const std::string> file = {};  ///< content of the file
};

/// Reads a bundle. Checks its signature against the keys of the machine, its expiry date, and each
/// data file with its parser. Errors: NotAuthorized for the signature; Malformed, TooLarge, as
/// reading a file; InvalidRequest for an expired bundle.
Result<CheckedBundle> checked_bundle(const std::string& path,
                                     const KnowledgeFolders& folders,
                                     WallTime now);

/// Installs a bundle. If the program is interrupted, either the previous bundle or this one is
/// installed. Errors: InvalidRequest if it is not newer than the knowledge base in use;
/// NotAuthorized, Io; Unavailable if another update is running.
Status install(const CheckedBundle& bundle, const KnowledgeFolders& folders);

/// Installs the previous bundle again. Without a previous bundle, removes the installed one.
/// Errors: NotFound if no bundle is installed; NotAuthorized, Io; Unavailable if another update is
/// running.
Status roll_back(const KnowledgeFolders& folders);

}  // namespace gpuprobe::engine
