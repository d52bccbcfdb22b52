// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "knowledge/bundle.h"
#include "knowledge/library.h"
#include "policy/consumer_set.h"
#include "report/outcome.h"

namespace gpuprobe::engine {

/// Where documents of knowledge lie on a machine: docs/knowledge.md.
struct KnowledgeFolders {
    std::string package = {};            ///< of the package gpuprobe-knowledge
    std::string state = {};              ///< the bundle that is installed, and the one before
    std::string own = {};                ///< the administrator's documents
    std::vector<std::string> keys = {};  ///< of public keys

    /// The usual ones, of the machine whose root is there.
    static KnowledgeFolders below(const std::string& root = "");
    [[nodiscard]] std::string bundle() const { return state + "/current.bundle"; }
    [[nodiscard]] std::string bundle_before() const { return state + "/previous.bundle"; }
};

/// Whether the reader of documents of that name reads this one. Errors: Malformed, TooLarge.
Status check_document(const std::string& name, std::string_view json);

/// A bundle's file as it is kept, whose signature was checked when it came. Errors: those of
/// reading it, of signed_text_in() and of bundle_from().
Result<knowledge::Bundle> bundle_at(const std::string& path);

struct LoadedKnowledge {
    std::shared_ptr<const knowledge::Library> library = {};
    std::vector<Reason> ignored = {};  ///< a note for each file that could not be used
};
/// The newest of what is compiled in, the package and the bundle, and the administrator's documents
/// over it. What is missing adds nothing, what is broken a note.
LoadedKnowledge knowledge_in(const KnowledgeFolders& folders);

/// Where an administrator's documents of consumers are, and `more` behind them. Each folder may
/// have whole documents, profiles and manifests.
std::vector<std::string> consumer_folders(const std::vector<std::string>& more = {});

/// The consumers that are compiled in and those of each `*.json` in the folders, later ones over
/// earlier ones. A missing folder adds nothing. One note in `ignored`, if given, for each file that
/// could not be added.
ConsumerSet consumers_in(const std::vector<std::string>& folders,
                         std::vector<Reason>* ignored = nullptr);

}  // namespace gpuprobe::engine
