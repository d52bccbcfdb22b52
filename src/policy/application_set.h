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
/// both. File: data/knowledge/applications/NAME.json; schema: data/schema/application.schema.json;
/// meaning: docs/data-files.md.
struct Application {
    std::string name = {};
    std::optional<Profile> selection = {};
    /// The application whose selection this application uses. Set only if this application has no
    /// selection.
    std::optional<std::string> selection_of = {};
    std::optional<Manifest> manifest = {};
};

/// The summary of an application in lists.
struct ApplicationSummary {
    std::string name = {};
    std::optional<std::string> description = {};
    /// The backends in order of preference, under the application's names. Empty if the application
    /// has no selection.
    std::vector<std::string> backends = {};
    /// Variants for all platforms, sorted; empty without a manifest.
    std::vector<std::string> variants = {};
};
RECORD_MEMBERS(ApplicationSummary, name, description, backends, variants)

/// Reads the root of an application's data file or of a manifest, and returns the first problem
/// with its path in the file. The selection or the manifest may be missing.
ReadProblem read_document(const Value& root, Application& out, UnknownWords unknown);

/// Parses an application's data file (gpuprobe.application/1). Errors: TooLarge if `json` is longer
/// than kMaxManifest; Malformed with the wrong member, or if both parts are missing.
Result<Application> parse_application(std::string_view json);

/// Parses the JSON that an installer passes with its request: a manifest, or an application's data
/// file with a manifest. A manifest must have a name, unless its format is tsuku's. Errors: as
/// parse_application().
Result<Manifest> parse_manifest(std::string_view json);

/// All known applications by name. A data file of the knowledge base is parsed on first use,
/// because most of these files are never used. Not thread-safe.
class ApplicationSet {
public:
    /// The applications in the knowledge base that is in use.
    static ApplicationSet with_builtins();

    /// Adds a data file. The file's parts (selection, manifest) replace the application's parts.
    /// Errors: as parse_application(), prefixed with `origin`; TooLarge if there are more than
    /// kMaxApplications applications. Nothing changes if an error is returned.
    Status add(std::string_view json, std::string_view origin);

    /// selection() and manifest() return null for unknown names. Pointers are valid until add().
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
    /// All applications, sorted by name. Data files that were parsed only for this list are not
    /// kept in memory.
    [[nodiscard]] std::vector<ApplicationSummary> summaries() const;

    /// The error UnknownApplication for a name without a selection or without a manifest. If the
    /// application has the other part, the message names the command for the other part, and
    /// no_manifest() returns NotFound.
    [[nodiscard]] Error no_selection(std::string_view name) const;
    [[nodiscard]] Error no_manifest(std::string_view name) const;

private:
    /// Parts that were added take precedence over parts in the knowledge base.
    struct Entry {
        std::string_view unread = {};  ///< JSON from the knowledge base; empty once parsed
        std::string path = {};         ///< path of the file with that JSON; empty if built in
        /// Whether has_selection and has_manifest take `unread` into account.
        bool has_been_seen = false;
        bool has_selection = false;
        bool has_manifest = false;
        Application application = {};
        std::optional<ApplicationSummary> summary = {};  ///< the summary, made on first use
    };
    static void see_parts(Entry& entry);
    static Application whole(std::string_view name, const Entry& entry);
    [[nodiscard]] const Application* find(std::string_view name) const;
    /// The profile of an application, or of the application that its file refers to.
    [[nodiscard]] const Profile* profile_of(const Application& application) const;
    [[nodiscard]] std::vector<std::string> names_with(bool Entry::*part) const;

    std::shared_ptr<const knowledge::Library> library_ = {};  ///< owns the unparsed JSON
    mutable std::map<std::string, Entry, std::less<>> entries_ = {};
};

constexpr std::size_t kMaxApplications = 512;

/// UnknownApplication: "WHAT 'NAME'; did you mean 'torch'?", or a hint to run the command that
/// lists the names.
Error unknown_name(std::string_view what,
                   std::string_view name,
                   const std::vector<std::string>& known);

}  // namespace gpuprobe::inline policy
