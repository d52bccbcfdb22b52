// SPDX-License-Identifier: Apache-2.0
#include "policy/application_set.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <set>
#include <utility>

#include "base/sha256.h"
#include "base/text.h"
#include "base/value.h"
#include "knowledge/library.h"
#include "policy/manifest_reading.h"
#include "policy/rules.h"

namespace gpuprobe::inline policy {
namespace {

constexpr std::string_view kSelection = "selection";
constexpr std::string_view kSelectionOf = "selection_of";
constexpr std::string_view kIntegratedBy = "integrated_by";
constexpr std::string_view kManifestPart = "manifest";
constexpr std::size_t kMaxApplicationName = 64;

Error malformed(std::string_view place, std::string_view problem) {
    return {ErrorCode::Malformed, std::string{place} + ": " + std::string{problem}};
}

/// Members of the root of a data file that a part must not repeat.
constexpr std::string_view kSharedMembers[] = {"schema", "name", "description", "source"};

/// Copies a part of a data file and adds the members in `shared`, which come from the root.
ReadProblem read_whole(const Value& root,
                       std::string_view part,
                       std::initializer_list<std::string_view> shared,
                       Value& whole) {
    whole = root.at(part);
    if (!whole.is_object())
        return ReadProblem{"expected an object"}.in(part);
    for (const auto member : kSharedMembers)
        if (whole.find(member))
            return ReadProblem{"unknown member"}.in(member).in(part);
    for (const auto member : shared)
        if (const auto* value = root.find(member))
            whole[member] = *value;
    return {};
}

/// Converts a problem in a complete part to a problem in the root of the file, which contains the
/// shared members.
ReadProblem in_root(ReadProblem problem, std::string_view part) {
    const auto first = std::string_view{problem.path}.substr(0, problem.path.find_first_of(".["));
    return std::ranges::find(kSharedMembers, first) != std::end(kSharedMembers) || problem.empty()
               ? problem
               : std::move(problem).in(part);
}

/// The lowest requirements among the variants in a manifest. A minimum in the selection can contain
/// the word "manifest" instead of repeating these requirements.
class LeastNeeds {
public:
    explicit LeastNeeds(const Manifest& manifest) {
        for (const auto& platform : manifest.platforms)
            for (const auto& variant : platform.variants)
                for (const auto& device : variant.needs.devices)
                    for (const auto& term : device)
                        add(term);
    }

    /// Replaces the word "manifest" in a predicate, so that "driver>=manifest or unknown" gets the
    /// driver version; nullopt if no variant has such a requirement.
    [[nodiscard]] std::optional<std::string> in(std::string predicate) const {
        std::string gfx;
        for (const auto& [size, target] : gfx_)
            gfx += (gfx.empty() ? "" : "|") + target;
        const std::pair<std::string_view, std::string> needs[] = {
            {"gfx=", gfx},
            {"compute-capability>=", capability_ ? text_of(*capability_) : ""},
            {"driver>=", driver_ ? text_of(*driver_) : ""}};
        for (const auto& [fact, need] : needs) {
            if (!predicate.starts_with(std::string{fact} + std::string{kManifestPart}))
                continue;
            if (need.empty())
                return std::nullopt;
            predicate.replace(fact.size(), kManifestPart.size(), need);
        }
        return predicate;
    }

private:
    /// Updates the lowest requirements with the requirements of one term.
    void add(const Term& term) {
        const auto& rules = Rules::current();
        if (const auto* targets = std::get_if<std::vector<GfxTarget>>(&term.need))
            for (const auto& target : *targets)
                gfx_.emplace(text_of(target).size(), text_of(target));
        if (const auto* need = std::get_if<CudaDriverNeed>(&term.need))
            take_least(driver_,
                       need->min_driver ? need->min_driver : rules.cuda_floor(need->toolkit));
        if (const auto* code = std::get_if<CudaKernels>(&term.need)) {
            std::optional<ComputeCapability> oldest;
            for (const auto* targets : {&code->sass, &code->ptx})
                for (const auto& target : targets->value_or(std::vector<KernelTarget>{}))
                    take_least(oldest, std::optional{target.capability});
            take_least(capability_, oldest ? oldest : rules.oldest_capability(code->toolkit));
        }
    }

    template <class T>
    static void take_least(std::optional<T>& least, const std::optional<T>& other) {
        if (other && (!least || *other < *least))
            least = other;
    }

    /// The gfx targets of all variants, with the lengths of their names, because a shorter name is
    /// older.
    std::set<std::pair<std::size_t, std::string>> gfx_ = {};
    std::optional<ComputeCapability> capability_ = {};
    std::optional<Version> driver_ = {};
};

/// Replaces the word "manifest" in the minimums of a selection.
ReadProblem fill_floors(Value& selection, const Manifest& manifest) {
    auto* floors = selection.find("floors");
    auto* backends = floors ? floors->as_object() : nullptr;
    if (!backends)
        return {};
    const LeastNeeds least{manifest};
    for (auto& backend : *backends) {
        auto* predicates = backend.value.as_array();
        for (std::size_t at = 0; predicates && at < predicates->size(); ++at) {
            const auto* text = (*predicates)[at].as_string();
            if (!text)
                continue;
            auto filled = least.in(*text);
            if (!filled)
                return ReadProblem{scrubbed(*text) +
                                   ": the application does not report this fact about its build"}
                    .in("[" + std::to_string(at) + "]")
                    .in(backend.key)
                    .in("floors");
            (*predicates)[at] = Value{std::move(*filled)};
        }
    }
    return {};
}

/// Reads a data file that contains a selection and a manifest. The manifest is read first, because
/// minimums in the selection can refer to the manifest.
ReadProblem read_parts(const Value& root, Application& out, UnknownWords unknown) {
    const std::vector<std::string> members{"schema",    "name",         "description", "source",
                                           "selection", "selection_of", "manifest"};
    for (const auto& [key, value] : *root.as_object())
        if (!contains(members, key))
            return unknown_member(key, members).in(scrubbed(key, kMaxApplicationName));
    Value part;
    if (root.find(kManifestPart)) {
        auto problem = read_whole(root, kManifestPart, {"name", "source"}, part);
        if (problem.empty()) {
            part["schema"] = Value{kManifestSchema};
            problem = in_root(read_manifest(part, out.manifest.emplace(), unknown), kManifestPart);
        }
        if (!problem.empty())
            return problem;
    }
    if (const auto* other = root.find(kSelectionOf)) {
        auto problem = read_value(*other, out.selection_of.emplace());
        if (problem.empty() && !is_label(*out.selection_of))
            problem = "not a label";
        if (problem.empty() && root.find(kSelection))
            problem = "not allowed with a selection";
        if (!problem.empty())
            return std::move(problem).in(kSelectionOf);
    }
    if (!root.find(kSelection))
        return {};
    auto problem = read_whole(root, kSelection, {"name", "description", "source"}, part);
    if (!problem.empty())
        return problem;
    problem = fill_floors(part, out.manifest.value_or(Manifest{}));
    if (problem.empty())
        problem = read_profile(part, out.selection.emplace(), unknown);
    return in_root(std::move(problem), kSelection);
}

bool is_application(const Value& root) {
    return root.at("schema") == Value{kApplicationSchema};
}

/// Parses an application's data file or a manifest; the parts of an application may be missing.
Result<Application> document_in(const Value& root, std::string_view json) {
    Application application;
    const auto problem = read_document(root, application, UnknownWords::Lose);
    if (!problem.empty())
        return Error{ErrorCode::Malformed,
                     (is_application(root) ? "" : "manifest: ") + scrubbed(problem.text(), 512)};
    if (application.manifest)
        application.manifest->sha256 = sha256_of(json);
    return application;
}

}  // namespace

ReadProblem read_document(const Value& root, Application& out, UnknownWords unknown) {
    return is_application(root) ? read_parts(root, out, unknown)
                                : read_manifest(root, out.manifest.emplace(), unknown);
}

Result<Application> parse_application(std::string_view json) {
    const auto root = parse_json(json, kMaxManifest);
    if (!root)
        return Error{root.error()}.in("application");
    if (!is_application(*root))
        return malformed("schema", "not " + std::string{kApplicationSchema});
    auto application = TRY(document_in(*root, json));
    if (!application.selection && !application.manifest)
        return malformed("application", "has neither a selection nor a manifest");
    application.name =
        application.selection ? application.selection->name : application.manifest->name;
    if (application.name.empty())
        return malformed("name", "missing");
    return application;
}

Result<Manifest> parse_manifest(std::string_view json) {
    const auto root = parse_json(json, kMaxManifest);
    if (!root)
        return Error{root.error()}.in("manifest");
    auto application = TRY(document_in(*root, json));
    if (!application.manifest)
        return malformed("manifest", "has no variants");
    return std::move(*application.manifest);
}

Error unknown_name(std::string_view what,
                   std::string_view name,
                   const std::vector<std::string>& known) {
    const auto question = did_you_mean(name, known);
    return {ErrorCode::UnknownApplication,
            std::string{what} + " '" + scrubbed(name, kMaxApplicationName) + "'; " +
                (!question.empty() ? question : "'gpuprobectl apps' lists them")};
}

namespace {

/// Stores the path of the data file from which the application was read.
void put_path(std::string_view path, Application& application) {
    if (application.selection)
        application.selection->path = path;
    if (application.manifest)
        application.manifest->path = path;
}

}  // namespace

ApplicationSet ApplicationSet::with_builtins() {
    ApplicationSet set;
    set.library_ = knowledge::Library::current();
    // Each file is named after its application, which tests/unit/policy/application_set_test.cpp
    // checks.
    for (const auto& [name, document] : set.library_->below("applications")) {
        set.entries_[name].json = document->json;
        set.entries_[name].path = document->path;
    }
    return set;
}

Status ApplicationSet::add(std::string_view json, std::string_view origin) {
    auto application = parse_application(json);
    if (!application)
        return std::move(application).error().in(origin);
    if (entries_.size() >= kMaxApplications && !entries_.contains(application->name))
        return Error{ErrorCode::TooLarge, std::string{origin} + ": more than " +
                                              std::to_string(kMaxApplications) + " applications"};
    put_path(origin, *application);
    auto& entry = entries_[application->name];
    for (auto& [name, other] : entries_)
        other.summary.reset();  // another summary may list the new file's backends
    entry.whole.reset();
    if (application->selection || application->selection_of) {
        entry.added.selection = std::move(application->selection);
        entry.added.selection_of = std::move(application->selection_of);
        entry.has_selection = true;
    }
    if (application->manifest) {
        entry.added.manifest = std::move(application->manifest);
        entry.has_manifest = true;
    }
    return Done{};
}

/// Determines which parts an unparsed file contains, without parsing these parts.
void ApplicationSet::see_parts(Entry& entry) {
    if (entry.has_been_seen)
        return;
    entry.has_been_seen = true;
    const auto root = parse_json(entry.json, kMaxManifest).value_or({});
    entry.has_selection = entry.has_selection || root.find(kSelection) || root.find(kSelectionOf);
    entry.has_manifest = entry.has_manifest || root.find(kManifestPart);
}

/// Parses the application's file and returns the whole application. Parts that were added take
/// precedence over parts in the file.
Application ApplicationSet::whole(std::string_view name, const Entry& entry) {
    auto application = entry.added;
    if (entry.json.empty())
        return application;
    // Tests check that each file is valid and that its name is the name of its application.
    auto read = parse_application(entry.json);
    if (read)
        put_path(entry.path, *read);
    else  // the file may come from a package for another version
        read = parse_application(knowledge::compiled_in_text("applications/" + std::string{name}));
    auto builtin = std::move(read).value_or({});
    if (!application.selection && !application.selection_of) {
        application.selection = std::move(builtin.selection);
        application.selection_of = std::move(builtin.selection_of);
    }
    if (!application.manifest)
        application.manifest = std::move(builtin.manifest);
    return application;
}

const Application* ApplicationSet::find(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end())
        return nullptr;
    auto& entry = found->second;
    if (!entry.whole)
        entry.whole = whole(name, entry);
    return &*entry.whole;
}

void ApplicationSet::forget() {
    for (auto& [name, entry] : entries_)
        entry.whole.reset();
}

const Profile* ApplicationSet::profile_of(const Application& application) const {
    if (application.selection)
        return &*application.selection;
    const auto* other = application.selection_of ? find(*application.selection_of) : nullptr;
    return other && other->selection ? &*other->selection : nullptr;
}

const Profile* ApplicationSet::selection(std::string_view name) const {
    const auto* application = find(name);
    return application ? profile_of(*application) : nullptr;
}

const Manifest* ApplicationSet::manifest(std::string_view name) const {
    const auto* application = find(name);
    return application && application->manifest ? &*application->manifest : nullptr;
}

std::vector<std::string> ApplicationSet::integrating_variables(std::string_view name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end())
        return {};
    // Few data files have this member, and searching a file is much faster than parsing it. A file
    // that is not built in may contain escapes, or may be replaced by the built-in file (whole()).
    const auto& entry = found->second;
    const auto builtin = entry.path.empty()
                             ? std::string_view{}
                             : knowledge::compiled_in_text("applications/" + std::string{name});
    const auto mentions = [&entry, builtin](std::string_view key) {
        constexpr auto kNone = std::string_view::npos;
        return entry.json.find(key) != kNone || builtin.find(key) != kNone ||
               (!entry.path.empty() && entry.json.find("\\u") != kNone);
    };
    if (!entry.json.empty() && !entry.has_selection && !mentions(kIntegratedBy) &&
        !mentions(kSelectionOf))
        return {};
    std::vector<std::string> variables;
    if (const auto* profile = selection(name))
        for (const auto& [variable, values] : profile->integrated_by)
            variables.push_back(variable);
    return variables;
}

namespace {

ApplicationSummary summary_of(std::string name, const Profile* profile, const Manifest* manifest) {
    ApplicationSummary summary{.name = std::move(name)};
    if (profile) {
        if (!profile->description.empty())
            summary.description = profile->description;
        for (const auto& backend : profile->backends) {
            const auto own = profile->translate.find(backend);
            summary.backends.push_back(own == profile->translate.end() ? backend : own->second);
        }
    }
    std::set<std::string> variants;
    if (manifest)
        for (const auto& platform : manifest->platforms)
            for (const auto& variant : platform.variants)
                variants.insert(variant.name);
    summary.variants.assign(variants.begin(), variants.end());
    return summary;
}

}  // namespace

std::vector<ApplicationSummary> ApplicationSet::summaries() const {
    std::vector<ApplicationSummary> summaries;
    for (auto& [name, entry] : entries_) {
        if (!entry.summary) {
            const auto application = whole(name, entry);
            entry.summary = summary_of(name, profile_of(application),
                                       application.manifest ? &*application.manifest : nullptr);
        }
        summaries.push_back(*entry.summary);
    }
    return summaries;
}

Error ApplicationSet::no_selection(std::string_view name) const {
    if (!manifest(name))
        return unknown_name("no application", name, applications());
    const std::string text{name};
    return {ErrorCode::UnknownApplication,
            text + " has variants, but no rules for choosing a backend; 'gpuprobectl recommend " +
                text + "' names the variant to install"};
}

Error ApplicationSet::no_manifest(std::string_view name) const {
    if (!selection(name))
        return unknown_name("no application", name, manifests());
    const std::string text{name};
    return {ErrorCode::NotFound,
            text + " has backends, but no variants to install; 'gpuprobectl select " + text +
                "' chooses the backend"};
}

std::vector<std::string> ApplicationSet::names_with(bool Entry::*part) const {
    std::vector<std::string> names;
    for (auto& [name, entry] : entries_) {
        see_parts(entry);
        if (entry.*part)
            names.push_back(name);
    }
    return names;
}

std::vector<std::string> ApplicationSet::names() const {
    std::vector<std::string> names;
    for (const auto& [name, entry] : entries_)
        names.push_back(name);
    return names;
}

std::vector<std::string> ApplicationSet::applications() const {
    return names_with(&Entry::has_selection);
}

std::vector<std::string> ApplicationSet::manifests() const {
    return names_with(&Entry::has_manifest);
}

}  // namespace gpuprobe::inline policy
