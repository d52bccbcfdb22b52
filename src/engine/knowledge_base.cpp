// SPDX-License-Identifier: Apache-2.0
#include "engine/knowledge_base.h"

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "knowledge/bundle.h"
#include "knowledge/chips.h"
#include "knowledge/drivers.h"
#include "knowledge/library.h"
#include "knowledge/places.h"
#include "knowledge/selectors.h"
#include "policy/application_set.h"
#include "policy/causes.h"
#include "policy/rules.h"
#include "report/api_table.h"

namespace gpuprobe::engine {
namespace {

using knowledge::DocumentSet;
using knowledge::Library;
using knowledge::Origin;
using knowledge::StoredDocument;

constexpr std::string_view kEnding = ".json";
constexpr std::string_view kApplications = "applications/";
constexpr std::string_view kCauses = "causes/";
constexpr std::string_view kRules = "rules/";
constexpr std::size_t kMaxWord = 64;

/// Checks a table of rules. Rules::from() needs all tables, so the compiled-in tables are used for
/// the other tables.
Status check_rules(std::string_view name, std::string_view json) {
    std::vector<knowledge::BuiltinDocument> tables;
    for (const auto& table : knowledge::builtin_rules())
        tables.push_back(table.name == name ? knowledge::BuiltinDocument{.name = name, .json = json}
                                            : table);
    (void)TRY(parse_json(json, kMaxManifest));  // Rules::from() does not read the tables of tools
    (void)TRY(Rules::from(tables));
    return Done{};
}

/// An application's data file must have the application's name.
Status check_application(std::string_view name, std::string_view json) {
    const auto application = TRY(parse_application(json));
    if (application.name != name)
        return Error{ErrorCode::Malformed, "name: differs from the name of its data file"};
    return Done{};
}

/// A row for an unknown backend would never be used, so it is probably a typo.
Status check_contexts(std::string_view json) {
    std::vector<std::string> known;
    for (const auto& api : kApis)
        if (computes(api))
            known.emplace_back(api.backend);
    const auto contexts = TRY(knowledge::Contexts::from(json));
    for (const auto& row : contexts.rows())
        if (std::ranges::find(known, row.backend) == known.end())
            return Error{ErrorCode::Malformed, "backend: '" + scrubbed(row.backend, kMaxWord) +
                                                   "' is not a backend" +
                                                   suggestion(row.backend, known)};
    return Done{};
}

/// Checks any other table by parsing it.
template <class Table>
Status check_table(std::string_view json) {
    (void)TRY(Table::from(json));
    return Done{};
}

/// The note about a file that can't be used.
Reason ignored(const std::string& path, const Error& error) {
    return because("knowledge-ignored", {{"file", path}, {"problem", scrubbed(error.text)}});
}

/// The data files in the subfolders `below` of a folder, by name ("" is the folder itself). Files
/// that can't be read or have an invalid name cause a note.
std::map<std::string, std::string> files_in(const std::string& folder,
                                            const std::vector<std::string>& below,
                                            std::vector<Reason>& notes) {
    const RootedFiles files;
    std::map<std::string, std::string> found;
    for (const auto& inside : below)
        for (const auto& file : files.list(folder + "/" + inside).value_or({})) {
            if (!file.ends_with(kEnding))
                continue;
            const auto name = inside + file.substr(0, file.size() - kEnding.size());
            auto text = files.read(folder + "/" + inside + file, kMaxManifest);
            if (text && knowledge::is_document_name(name))
                found.emplace(name, std::move(*text));
            else
                notes.push_back(
                    ignored(folder + "/" + inside + file,
                            text ? Error{ErrorCode::Malformed, "not the name of a data file"}
                                 : text.error()));
        }
    return found;
}

/// A data file that owns its JSON.
StoredDocument document_of(std::string text, Origin origin, std::string path) {
    const auto kept = std::make_shared<const std::string>(std::move(text));
    return {.json = *kept, .origin = origin, .path = std::move(path), .text = kept};
}

/// Adds the package's data files if the package is newer than the compiled-in data files; otherwise
/// reads only the package's release file.
void add_package(const std::string& folder, Library& library, std::vector<Reason>& notes) {
    const auto path = folder + "/" + std::string{knowledge::kRelease} + std::string{kEnding};
    const auto text = RootedFiles{}.read(path, kMaxManifest);
    if (!text)
        return;
    const auto head = knowledge::head_of(*text);
    const auto version = head && head->schema == knowledge::kReleaseSchema
                             ? parse_text(std::string_view{head->version.value_or("")},
                                          std::type_identity<Version>{})
                             : std::nullopt;
    if (!version) {
        notes.push_back(
            ignored(path, {ErrorCode::Malformed, "not a release of the knowledge base"}));
        return;
    }
    if (*version <= library.version())
        return;
    // If a data file is broken, the other data files of the package are still used.
    DocumentSet set{.version = *version};
    for (auto& [name, json] : files_in(folder, {"", "causes/", "applications/", "rules/"}, notes)) {
        const auto file = folder + "/" + name + std::string{kEnding};
        if (const auto checked = check_document(name, json); !checked)
            notes.push_back(ignored(file, checked.error()));
        else
            set.documents.emplace(name, document_of(std::move(json), Origin::Package, file));
    }
    library.add(set);
}

/// Adds the installed bundle. A missing bundle isn't an error.
void add_bundle(const std::string& path, Library& library, std::vector<Reason>& notes) {
    auto bundle = bundle_at(path);
    if (bundle)
        library.add(bundle->set);
    else if (bundle.error().code != ErrorCode::NotFound)
        notes.push_back(ignored(path, bundle.error()));
}

/// Adds the administrator's data files. The administrator's data files override all others and have
/// no version, so a release file is an error here. Applications are read later, by
/// applications_in().
void add_own(const std::string& folder, Library& library, std::vector<Reason>& notes) {
    for (auto& [name, json] : files_in(folder, {"", "causes/", "rules/"}, notes)) {
        const auto file = folder + "/" + name + std::string{kEnding};
        auto checked = check_document(name, json);
        if (name == knowledge::kRelease)
            checked = Error{ErrorCode::Malformed, "a single data file has no release"};
        if (checked)
            checked = library.add(name, document_of(std::move(json), Origin::Administrator, file));
        if (!checked)
            notes.push_back(ignored(file, checked.error()));
    }
}

}  // namespace

KnowledgeFolders KnowledgeFolders::below(const std::string& root) {
    return {.package = root + "/usr/share/gpuprobe/knowledge",
            .state = root + "/var/lib/gpuprobe-knowledge",
            .own = root + "/etc/gpuprobe/knowledge",
            .keys = {root + "/usr/share/gpuprobe/keys.d", root + "/etc/gpuprobe/keys.d"}};
}

/// The name determines the parser. A name without a parser must be the name of a release file.
Status check_document(const std::string& name, std::string_view json) {
    const auto after = [&name](std::string_view folder) {
        return std::string_view{name}.substr(folder.size());
    };
    if (name.starts_with(kApplications))
        return check_application(after(kApplications), json);
    if (name.starts_with(kCauses))
        return Causes{}.add(json);
    if (name.starts_with(kRules))
        return check_rules(after(kRules), json);
    if (name == "chips")
        return check_table<knowledge::Chips>(json);
    if (name == "amd_names")
        return check_table<knowledge::AmdNames>(json);
    if (name == "drivers")
        return check_table<knowledge::Drivers>(json);
    if (name == "selectors")
        return check_table<knowledge::Selectors>(json);
    if (name == "distributions")
        return check_table<knowledge::Places>(json);
    if (name == "contexts")
        return check_contexts(json);
    if (name == "setup")
        return check_table<knowledge::SetupWords>(json);
    // No other name is known, so the file can only be the release file.
    const auto head = TRY(knowledge::head_of(json));
    return head.schema == knowledge::kReleaseSchema
               ? Status{Done{}}
               : Error{ErrorCode::Malformed, "schema: unknown"};
}

Result<knowledge::Bundle> bundle_at(const std::string& path) {
    const auto text =
        std::make_shared<const std::string>(TRY(RootedFiles{}.read(path, knowledge::kMaxBundle)));
    const auto parts = TRY(knowledge::signed_text_in(*text));
    return knowledge::bundle_from(parts.message, text, path);
}

/// The order matters: package and bundle are added only if they are newer than the library to which
/// they are added; the administrator's data files override both.
LoadedKnowledge knowledge_in(const KnowledgeFolders& folders) {
    Library library;
    LoadedKnowledge loaded;
    add_package(folders.package, library, loaded.ignored);
    add_bundle(folders.bundle(), library, loaded.ignored);
    add_own(folders.own, library, loaded.ignored);
    const bool has_others = std::ranges::any_of(
        library.all(), [](const auto& named) { return !named.second.path.empty(); });
    loaded.library = has_others ? std::make_shared<const Library>(std::move(library))
                                : Library::compiled_in();  // the library keeps its parsed tables
    return loaded;
}

std::vector<std::string> application_folders(const std::vector<std::string>& more) {
    std::vector<std::string> folders{"/etc/gpuprobe/applications"};
    folders.insert(folders.end(), more.begin(), more.end());
    return folders;
}

ApplicationSet applications_in(const std::vector<std::string>& folders,
                               std::vector<Reason>* ignored) {
    auto applications = ApplicationSet::with_builtins();
    const RootedFiles files;
    for (const auto& folder : folders)
        for (const auto& name : files.list(folder).value_or({})) {
            if (!name.ends_with(".json"))
                continue;
            const auto path = folder + "/" + name;
            const auto text = files.read(path, kMaxManifest);
            const auto added = text ? applications.add(*text, path) : Status{text.error()};
            if (!added && ignored)
                ignored->push_back(
                    because("application-ignored",
                            {{"file", path}, {"problem", scrubbed(added.error().text)}}));
        }
    return applications;
}

}  // namespace gpuprobe::engine
