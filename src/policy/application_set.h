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
    /// The application whose selection this application uses. Only set if this application has no
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
/// with its path in the file. Either part may be missing.
ReadProblem read_document(const Value& root, Application& out, UnknownWords unknown);

/// Parses an application's data file (gpuprobe.application/1). Errors: TooLarge if the text is
/// longer than kMaxManifest; Malformed with the member at fault, or if neither part is present.
Result<Application> parse_application(std::string_view json);

/// Parses the text that an installer passes with its request. The text is a manifest, or an
/// application's data file with a manifest. A manifest must have a name, unless its format is
/// tsuku's. Errors: as parse_application().
Result<Manifest> parse_manifest(std::string_view json);

/// All known applications by name. A data file of the knowledge base is parsed on first use,
/// because most of these files are never used. Not thread-safe.
class ApplicationSet {
public:
    /// The data files of the knowledge base in use.
    static ApplicationSet with_builtins();

    /// Adds a data file. Each part of the file replaces the part with the same name. Errors: as
    /// parse_application(), prefixed with `origin`; TooLarge if there are more than
    /// kMaxApplications applications. Nothing changes if an error is returned.
    Status add(std::string_view json, std::string_view origin);

    /// Both functions return null for an unknown name. The result is valid until the next add().
    [[nodiscard]] const Profile* selection(std::string_view name) const;
    [[nodiscard]] const Manifest* manifest(std::string_view name) const;

    /// Sorted lists: all names, names of applications with a selection, and names of applications
    /// with a manifest.
    [[nodiscard]] std::vector<std::string> names() const;
    [[nodiscard]] std::vector<std::string> applications() const;
    [[nodiscard]] std::vector<std::string> manifests() const;
    /// All applications, sorted by name. Data files that were parsed only for this list are not
    /// kept in memory.
    [[nodiscard]] std::vector<ApplicationSummary> summaries() const;

    /// The error for a name without a selection or without a manifest: UnknownApplication. If the
    /// application has the other part, the text mentions this and names the command for that part;
    /// the error of no_manifest() is then NotFound.
    [[nodiscard]] Error no_selection(std::string_view name) const;
    [[nodiscard]] Error no_manifest(std::string_view name) const;

private:
    /// Parts that were added take precedence over parts in the knowledge base.
    struct Entry {
        std::string_view unread = {};  ///< text from the knowledge base; empty once parsed
        std::string path = {};         ///< path of the file with that text; empty if built in
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

    std::shared_ptr<const knowledge::Library> library_ = {};  ///< owns the unparsed texts
    mutable std::map<std::string, Entry, std::less<>> entries_ = {};
};

constexpr std::size_t kMaxApplications = 512;

/// UnknownApplication: "WHAT 'NAME'; did you mean 'torch'?", or a hint to run the command that
/// lists the names.
Error unknown_name(std::string_view what,
                   std::string_view name,
                   const std::vector<std::string>& known);

}  // namespace gpuprobe::inline policy
