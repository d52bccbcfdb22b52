// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/units.h"
#include "knowledge/bundle.h"
#include "knowledge/library.h"
#include "policy/application_set.h"
#include "report/outcome.h"

namespace gpuprobe::engine {

/// The folders of data files on a machine. docs/data-files.md describes these folders.
struct KnowledgeFolders {
    std::string package = {};            ///< data files of the package gpuprobe-knowledge
    std::string state = {};              ///< the installed bundle and the previous one
    std::string own = {};                ///< the administrator's data files
    std::vector<std::string> keys = {};  ///< folders of public keys

    /// The default folders, below `root`.
    static KnowledgeFolders below(const std::string& root = "");
    [[nodiscard]] std::string bundle() const { return state + "/current.bundle"; }
    [[nodiscard]] std::string bundle_before() const { return state + "/previous.bundle"; }
};

/// Checks that the parser for the data file `name` accepts `json`. Errors: Malformed or TooLarge.
Status check_document(const std::string& name, std::string_view json);

/// Reads an installed bundle. The signature was checked during installation and isn't checked
/// again. Errors: the errors of reading a file, signed_text_in() and bundle_from().
Result<knowledge::Bundle> bundle_at(const std::string& path);

struct LoadedKnowledge {
    std::shared_ptr<const knowledge::Library> library = {};
    std::vector<Reason> ignored = {};  ///< a note for each file that cannot be used
};
/// The knowledge base: the newest of the compiled-in data files, the package and the bundle,
/// overridden by the administrator's data files. Missing files are skipped; broken files cause a
/// note.
LoadedKnowledge knowledge_in(const KnowledgeFolders& folders);

/// The administrator's folder of application data files, followed by `more`.
std::vector<std::string> application_folders(const std::vector<std::string>& more = {});

/// The compiled-in applications and the applications in each `*.json` of the folders; later files
/// override earlier files. Missing folders are skipped. If `ignored` isn't null, it gets a note
/// for each file that could not be added.
ApplicationSet applications_in(const std::vector<std::string>& folders,
                               std::vector<Reason>* ignored = nullptr);

// The following functions install bundles of data files on a machine. The daemon calls none of
// them.

/// A bundle that may be installed, with its signer.
struct CheckedBundle {
    knowledge::Bundle bundle = {};
    std::string key = {};                          ///< file name of the key that signed the bundle
    std::shared_ptr<const std::string> file = {};  ///< content of the file
};

/// Reads a bundle. Checks the signature against the keys of the machine, the expiry date, and each
/// data file with its parser. Errors: NotAuthorized if the signature isn't valid; InvalidRequest
/// for an expired bundle; Malformed or TooLarge; and the errors of reading a file.
Result<CheckedBundle> checked_bundle(const std::string& path,
                                     const KnowledgeFolders& folders,
                                     WallTime now);

/// Installs a bundle. If the program is interrupted, either the previous bundle or the new bundle
/// is installed. Errors: InvalidRequest if the new bundle isn't newer than the knowledge base in
/// use; NotAuthorized or Io; Unavailable if another update is running.
Status install(const CheckedBundle& bundle, const KnowledgeFolders& folders);

/// Installs the previous bundle again. If there is no previous bundle, removes the installed
/// bundle. Errors: NotFound if no bundle is installed; NotAuthorized or Io; Unavailable if another
/// update is running.
Status roll_back(const KnowledgeFolders& folders);

}  // namespace gpuprobe::engine
