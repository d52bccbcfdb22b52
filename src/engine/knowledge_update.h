// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "engine/knowledge_folders.h"
#include "knowledge/bundle.h"

/// Bundles of knowledge that come to a machine. The daemon links none of this.
namespace gpuprobe::engine {

/// A bundle that may be installed, with who signed it.
struct CheckedBundle {
    knowledge::Bundle bundle = {};
    std::string key = {};  ///< the name of the key's file
    std::shared_ptr<const std::string> file = {};
};

/// Reads a bundle, and checks its signature against the keys of the machine, that it has not
/// expired, and every document by its reader. Errors: NotAuthorized for the signature,
/// Malformed, TooLarge, those of reading the file; InvalidRequest for one that has expired.
Result<CheckedBundle> checked_bundle(const std::string& path,
                                     const KnowledgeFolders& folders,
                                     WallTime now);

/// Makes it the installed one. Whatever ends the program in between, what is installed is the one
/// before or this one. Errors: InvalidRequest for one that is not newer than what is in use;
/// NotAuthorized, Io.
Status install(const CheckedBundle& bundle, const KnowledgeFolders& folders);

/// Makes the one before the installed one again; without one, no bundle is installed afterwards.
/// Errors: NotFound where none is installed; NotAuthorized, Io.
Status roll_back(const KnowledgeFolders& folders);

/// Frees the tables that were made of documents; they are made again when somebody asks for what
/// they say. Not to be called while a question is being answered.
void forget_tables();

}  // namespace gpuprobe::engine
