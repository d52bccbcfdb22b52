// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "knowledge/library.h"
#include "policy/manifest.h"
#include "policy/profile.h"

namespace gpuprobe::inline policy {

/// The data about one application: rules for choosing a backend, variants that can be installed, or
/// both. The file is data/knowledge/applications/NAME.json, and its schema is
/// data/schema/application.schema.json; docs/data-files.md explains the members.
struct Application {
    std::string name = {};
    std::optional<Profile> selection = {};
    /// The application whose selection this application uses. This member is set only if the
    /// application has no selection.
    std::optional<std::string> selection_of = {};
    std::optional<Manifest> manifest = {};
};

/// The summary of an application, for lists of applications.
struct ApplicationSummary {
    std::string name = {};
    std::optional<std::string> description = {};
    /// The application's backends in order of preference, under the application's own names. The
    /// list is empty if the application has no selection.
    std::vector<std::string> backends = {};
    /// The names of the variants for all platforms, sorted; empty if there is no manifest.
    std::vector<std::string> variants = {};
};
RECORD_MEMBERS(ApplicationSummary, name, description, backends, variants)

/// Reads the root of an application's data file or of a manifest, and returns the first problem,
/// together with its path in the file. Either the selection or the manifest may be missing.
ReadProblem read_document(const Value& root, Application& out, UnknownWords unknown);

/// Parses an application's data file (gpuprobe.application/1). Errors: TooLarge if `json` is longer
/// than kMaxManifest; Malformed, with the member at fault, or if both parts are missing.
Result<Application> parse_application(std::string_view json);

/// Parses JSON that an installer passes with a request: a manifest, or an application's data file
/// with a manifest. A manifest must have a name, unless it has tsuku's format. Errors: as
/// parse_application().
Result<Manifest> parse_manifest(std::string_view json);

/// All known applications by name. A data file of the knowledge base is parsed only when it is
/// used, because most of these files are never used. Not thread-safe.
class ApplicationSet {
public:
    /// The set of the applications in the knowledge base that is in use.
    static ApplicationSet with_builtins();

    /// Adds a data file. The parts of the file (selection, manifest) replace the parts of the
    /// application. Errors: the same as for parse_application(), with `origin` as a prefix;
    /// TooLarge if there are more than kMaxApplications applications. If an error is returned,
    /// nothing is changed.
    Status add(std::string_view json, std::string_view origin);

    /// Frees the memory of parsed data files, which are parsed again when they are used.
    void forget();

    /// For unknown names, selection() and manifest() return null. The pointers are valid until
    /// add() or forget() is called.
    [[nodiscard]] const Profile* selection(std::string_view name) const;
    [[nodiscard]] const Manifest* manifest(std::string_view name) const;
    /// The variables with which a user allows the application to use integrated GPUs
    /// (Profile::integrated_by); empty for unknown names.
    [[nodiscard]] std::vector<std::string> integrating_variables(std::string_view name) const;

    /// Sorted lists of names: all applications, the applications with a selection, and the
    /// applications with a manifest.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] std::vector<std::string> applications() const;
    [[nodiscard]] std::vector<std::string> manifests() const;
    /// All applications, sorted by name. Data files that are parsed only for this list aren't kept
    /// in memory.
    [[nodiscard]] std::vector<ApplicationSummary> summaries() const;

    /// The error UnknownApplication for a name without a selection or without a manifest. If the
    /// application has the other of these two parts, the message names the command for that part,
    /// and no_manifest() returns NotFound.
    [[nodiscard]] Error no_selection(std::string_view name) const;
    [[nodiscard]] Error no_manifest(std::string_view name) const;

private:
    /// Parts that were added take precedence over parts in the knowledge base.
    struct Entry {
        std::string_view json = {};  ///< JSON from the knowledge base; empty if there is none
        std::string path = {};       ///< path of the file with `json`; empty if built in
        /// Whether has_selection and has_manifest are already set from `json`.
        bool has_been_seen = false;
        bool has_selection = false;
        bool has_manifest = false;
        Application added = {};                 ///< the parts that were added
        std::optional<Application> whole = {};  ///< all parts; absent until they are used
        /// The summary, which is made on first use.
        std::optional<ApplicationSummary> summary = {};
    };
    static void see_parts(Entry& entry);
    static Application whole(std::string_view name, const Entry& entry);
    [[nodiscard]] const Application* find(std::string_view name) const;
    /// The profile of an application, or of the application to which its file refers.
    [[nodiscard]] const Profile* profile_of(const Application& application) const;
    [[nodiscard]] std::vector<std::string> names_with(bool Entry::*part) const;

    std::shared_ptr<const knowledge::Library> library_ = {};  ///< owns the unparsed JSON
    mutable std::map<std::string, Entry, std::less<>> entries_ = {};
};

constexpr std::size_t kMaxApplications = 512;

/// The error UnknownApplication with a message such as "WHAT 'NAME'; did you mean 'torch'?", or
/// with a hint to run the command that lists the names.
Error unknown_name(std::string_view what,
                   std::string_view name,
                   const std::vector<std::string>& known);

}  // namespace gpuprobe::inline policy
