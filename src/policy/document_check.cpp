// SPDX-License-Identifier: Apache-2.0
#include "policy/document_check.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "base/text.h"
#include "policy/manifest_reading.h"
#include "policy/recommend.h"
#include "policy/rules.h"
#include "policy/select.h"

namespace gpuprobe::inline policy {
namespace {

constexpr std::size_t kMaxShownPath = 512;
constexpr std::size_t kMaxShownWord = 64;
constexpr std::size_t kMaxShownProblem = 512;

// Places in a document ----------------------------------------------------------------------------

/// The changes that were made to a copy of a document; they are needed to translate paths in the
/// copy into paths in the file.
struct Changes {
    /// The items that were removed from a list, by the path of the list. Each item is given by its
    /// index in the file.
    std::map<std::string, std::set<std::size_t>> removed = {};
    /// The keys of a renamed member in the copy and in the file, by the path of the member.
    std::map<std::string, std::string> renamed = {};
    std::set<std::string> gone = {};  ///< paths that were removed
    /// Paths of objects and lists from which something was removed.
    std::set<std::string> shrunk = {};
};

/// The place in the document that the path of a problem names. `path` and `parent_path` are paths
/// in the file.
struct DocumentPlace {
    Value* parent = nullptr;  ///< null if the document has no such place
    std::string key = {};     ///< key of the member, if `parent` is an object
    std::size_t index = 0;    ///< index of the item in the copy, if `parent` is an array
    std::size_t index_in_file = 0;
    std::string path = {};
    std::string parent_path = {};     ///< "" for the root
    std::string parent_in_copy = {};  ///< the path of the parent in the copy

    /// The value at the place; null if the member is missing.
    [[nodiscard]] Value* value() const {
        if (!parent)
            return nullptr;
        auto* items = parent->as_array();
        return items ? &(*items)[index] : parent->find(key);
    }
};

/// The length of the first step of the path if this step names the member; otherwise 0. Readers
/// write a key either unchanged or as path_part() writes it.
std::size_t step_length(std::string_view path, const std::string& key) {
    std::size_t length = 0;
    for (const auto& text : {key, path_part(key), scrubbed(key, kMaxShownWord)}) {
        const bool ends_there =
            path.size() == text.size() ||
            (path.size() > text.size() && (path[text.size()] == '.' || path[text.size()] == '['));
        if (!text.empty() && path.starts_with(text) && ends_there)
            length = std::max(length, text.size());
    }
    return length;
}

/// Removes the index at the beginning of a path, such as "[3]", and returns the index.
std::optional<std::size_t> take_index(std::string_view& path) {
    const auto end = path.find(']');
    if (!path.starts_with('[') || end == std::string_view::npos)
        return std::nullopt;
    const auto index = parse_number<std::size_t>(path.substr(1, end - 1));
    if (index)
        path.remove_prefix(end + 1);
    return index;
}

/// Removes the step that leads to a member from the path. If several keys match, the longest key
/// counts, because keys may contain dots. Only the last step of a path may be a key that does not
/// exist.
std::string take_key(const Value::Object& members, std::string_view& path) {
    std::size_t longest = 0;
    std::string key;
    for (const auto& member : members)
        if (const auto length = step_length(path, member.key); length > longest) {
            longest = length;
            key = member.key;
        }
    if (longest == 0) {
        key = path;
        longest = path.size();
    }
    path.remove_prefix(longest);
    return key;
}

/// The index that an item of the copy has in the file.
std::size_t index_in_file(const Changes& changes, const std::string& list, std::size_t index) {
    const auto found = changes.removed.find(list);
    if (found != changes.removed.end())
        for (const auto removed : found->second)
            index += removed <= index ? 1 : 0;
    return index;
}

/// The path that a member of the copy has in the file.
std::string path_of(const Changes& changes, const std::string& object, const std::string& step) {
    const auto path = object + (object.empty() || step.starts_with('[') ? "" : ".") + step;
    const auto renamed = changes.renamed.find(path);
    return renamed == changes.renamed.end()
               ? path
               : object + (object.empty() ? "" : ".") + path_part(renamed->second);
}

/// Follows one step of a path. Returns false if the step does not name a member or an item.
bool take_step(std::string_view& rest, const Changes& changes, DocumentPlace& place) {
    if (rest.starts_with('.'))
        rest.remove_prefix(1);
    const auto before = rest;
    if (const auto* items = place.parent->as_array()) {
        const auto index = take_index(rest);
        if (!index || *index >= items->size())
            return false;
        place.index = *index;
        place.index_in_file = index_in_file(changes, place.parent_path, *index);
        place.path = place.parent_path + "[" + std::to_string(place.index_in_file) + "]";
        return true;
    }
    const auto* members = place.parent->as_object();
    if (!members || rest.empty())
        return false;
    place.key = take_key(*members, rest);
    const std::string step{before.substr(0, before.size() - rest.size())};
    place.path = path_of(changes, place.parent_path, step);
    return true;
}

/// The place in the copy to which a path leads.
DocumentPlace place_of(Value& root, const std::string& path, const Changes& changes) {
    std::string_view rest = path;
    DocumentPlace place{.parent = &root};
    while (take_step(rest, changes, place)) {
        if (rest.empty())
            return place;
        auto* value = place.value();
        if (!value)
            break;
        place = {.parent = value,
                 .parent_path = place.path,
                 .parent_in_copy = path.substr(0, path.size() - rest.size())};
    }
    return {.path = path};
}

/// A valid value for a required member, so that reading can continue; nullopt for other members.
std::optional<Value> stand_in(std::string_view path) {
    if (path == "name" || path == "description")
        return Value{"stand-in"};
    for (const std::string_view lead : {"", "selection."}) {
        if (!path.starts_with(lead))
            continue;
        const auto member = path.substr(lead.size());
        if (member == "cpu")
            return Value{name_of(CpuPolicy::Last)};
        if (member == "integrated")
            return Value{name_of(IntegratedPolicy::Fallback)};
        if (member == "strict")
            return Value{false};
    }
    return std::nullopt;
}

/// Removes the member or item; if the member is missing, removes the object that lacks it. Returns
/// false if the whole document would have to be removed.
bool remove(Value& root, const DocumentPlace& place, Changes& changes) {
    if (!place.parent)
        return false;
    if (auto* items = place.parent->as_array()) {
        items->erase(items->begin() + static_cast<std::ptrdiff_t>(place.index));
        changes.removed[place.parent_path].insert(place.index_in_file);
    } else if (place.parent->find(place.key)) {
        std::erase_if(*place.parent->as_object(),
                      [&](const Value::Member& member) { return member.key == place.key; });
        changes.gone.insert(place.path);
    } else {
        return !place.parent_in_copy.empty() &&
               remove(root, place_of(root, place.parent_in_copy, changes), changes);
    }
    changes.shrunk.insert(place.parent_path);
    return true;
}

// Suggestions -------------------------------------------------------------------------------------

/// Names that authors often use for members that have other names in gpuprobe's data files.
struct OtherName {
    std::string_view word;
    std::string_view meant;
};
// Sources: CUDA's and AMD's documentation, and container tools, which use such names.
constexpr OtherName kOtherNames[] = {
    {"docker", "oci"},
    {"container", "oci"},
    {"image", "oci"},
    {"archive", "file"},
    {"tarball", "file"},
    {"zip", "file"},
    {"url", "file"},
    {"pip", "wheel"},
    {"pypi", "index"},
    {"deb", "package"},
    {"rpm", "package"},
    {"rocm", "hip"},
    {"sycl", "level_zero"},
    {"oneapi", "level_zero"},
    {"dgpu", "discrete"},
    {"igpu", "integrated"},
    {"apu", "integrated"},
    {"jetson", "tegra"},
    {"soc", "tegra"},
    {"sm_min", "sass"},
    {"sm", "sass"},
    {"arch", "sass"},
    {"archs", "sass"},
    {"compute_capability", "sass"},
    {"compute_capability_min", "sass"},
    {"cc_min", "sass"},
    {"capabilities", "sass"},
    {"gfx_min", "gfx"},
    {"targets", "gfx"},
    {"vram_min", "vram_min_mib"},
    {"memory_min", "memory_min_mib"},
    {"ram_min", "memory_min_mib"},
    {"libraries", "libs"},
    {"sonames", "libs"},
    {"env_vars", "env"},
    {"environment", "env"},
    {"needs", "requires"},
    {"require", "requires"},
};

/// A known word, and the object that contains this word if that isn't the object with the mistake.
struct Suggestion {
    std::string word = {};
    std::optional<std::string> place = {};
    bool is_spelling = false;  ///< the word was only misspelled, so the value is probably right
};

std::string lower_with_underscores(std::string_view word) {
    auto text = lower_case(word);
    std::ranges::replace(text, '-', '_');
    return text;
}

/// Returns a member of another object in manifests if that member passes the test.
template <class Test>
std::optional<Suggestion> elsewhere(Test test) {
    for (const auto& [place, members] : manifest_members())
        for (const auto& member : members)
            if (test(member))
                return Suggestion{.word = member, .place = std::string{place}};
    return std::nullopt;
}

/// The known word that the author probably meant: the correct spelling, the same word in another
/// object, or gpuprobe's equivalent of a word from another project.
std::optional<Suggestion> suggestion_for(const std::string& word,
                                         const ReadProblem& problem,
                                         bool is_member) {
    // Words such as "CUDA" for "cuda" and "glibc-min" for "glibc_min" are closer than any other
    // word.
    const auto plain = lower_with_underscores(word);
    for (const auto& known : problem.known)
        if (lower_with_underscores(known) == plain)
            return Suggestion{.word = known, .is_spelling = true};
    if (auto known = closest(word, problem.known))
        return Suggestion{.word = std::move(*known), .is_spelling = true};
    if (is_member)
        if (auto other = elsewhere([&](const auto& member) { return member == plain; }))
            return other;
    for (const auto& [other, meant] : kOtherNames) {
        if (other != plain)
            continue;
        if (contains(problem.known, meant))
            return Suggestion{.word = std::string{meant}};
        const auto is_meant = [meant](const auto& member) { return member == meant; };
        if (auto found = is_member ? elsewhere(is_meant) : std::nullopt)
            return found;
    }
    if (!is_member)
        return std::nullopt;
    return elsewhere([&](const auto& member) { return closest(word, {member}).has_value(); });
}

/// The unknown word that a problem is about; nullopt for other kinds of problems.
std::optional<std::string> word_of(const ReadProblem& problem, const DocumentPlace& place) {
    if (problem.known.empty())
        return std::nullopt;
    if (!problem.word.empty())
        return problem.word;
    const auto* value = place.value();
    const auto* text = value ? value->as_string() : nullptr;
    return text ? std::optional{*text} : std::nullopt;
}

// The check ---------------------------------------------------------------------------------------

/// Finds one problem after another. The part at fault is corrected or removed in a copy of the
/// document, and the copy is read again with the reader that programs use.
class Checker {
public:
    explicit Checker(Value root) : root_{std::move(root)} {}

    DocumentCheck take() {
        // Each step adds a finding, or removes a part that earlier findings explain.
        for (std::size_t step = 0; step < 2 * kMaxDocumentFindings; ++step) {
            Application application;
            const auto problem = read_document(root_, application, UnknownWords::Refuse);
            if (problem.empty()) {
                if (!application.selection && !application.manifest)
                    check_.findings.push_back(
                        {.problem = "has neither a selection nor a manifest"});
                return std::move(check_);
            }
            if (check_.findings.size() == kMaxDocumentFindings || !handle(problem))
                break;
        }
        check_.is_complete = false;
        return std::move(check_);
    }

private:
    /// Reports the problem, unless it is a consequence of an earlier problem, and corrects the
    /// copy. Returns false if the copy cannot be corrected.
    bool handle(const ReadProblem& problem) {
        const auto place = place_of(root_, problem.path, changes_);
        const auto word = word_of(problem, place);
        const bool is_member = problem.reason == "unknown member";
        const auto meant = word ? suggestion_for(*word, problem, is_member) : std::nullopt;
        if (!follows(place))
            check_.findings.push_back(finding(problem, place, word, meant));
        if (is_member && meant && meant->is_spelling && rename(place, meant->word))
            return true;
        if (word && problem.word.empty()) {
            *place.value() = Value{meant ? meant->word : unused_word(problem, place)};
            return true;
        }
        auto good = stand_in(problem.path);
        if (!good || !place.parent)
            return remove(root_, place, changes_);
        if (place.parent->at(place.key) == *good)
            return false;
        (*place.parent)[place.key] = std::move(*good);
        return true;
    }

    /// Whether the problem exists only because a part was removed after an earlier finding.
    [[nodiscard]] bool follows(const DocumentPlace& place) const {
        return (!place.value() && changes_.gone.contains(place.path)) ||
               changes_.shrunk.contains(place.path);
    }

    /// Gives a member its correct name, so that the member's content is also checked.
    bool rename(const DocumentPlace& place, const std::string& key) {
        if (!place.parent || place.parent->find(key))
            return false;
        for (auto& member : *place.parent->as_object())
            if (member.key == place.key) {
                changes_.renamed[path_of({}, place.parent_path, path_part(key))] = member.key;
                member.key = key;
                return true;
            }
        return false;
    }

    /// A known word that isn't in the list yet, because a list must not contain a word twice.
    static std::string unused_word(const ReadProblem& problem, const DocumentPlace& place) {
        const auto* items = place.parent->as_array();
        for (const auto& word : problem.known)
            if (!items || std::ranges::find(*items, Value{word}) == items->end())
                return word;
        return problem.known.front();
    }

    static DocumentFinding finding(const ReadProblem& problem,
                                   const DocumentPlace& place,
                                   const std::optional<std::string>& word,
                                   const std::optional<Suggestion>& meant) {
        DocumentFinding found{.path = scrubbed(place.path, kMaxShownPath),
                              .problem = scrubbed(problem.reason, kMaxShownProblem)};
        if (!word)
            return found;
        found.word = scrubbed(*word, kMaxShownWord);
        if (meant) {
            found.meant = meant->word;
            found.place = meant->place;
        } else if (problem.may_be_newer) {
            found.grade = FindingGrade::Warning;
        }
        return found;
    }

    Value root_;
    DocumentCheck check_ = {};
    Changes changes_ = {};
};

}  // namespace

bool DocumentCheck::has_mistakes() const {
    return std::ranges::any_of(findings, [](const DocumentFinding& finding) {
        return finding.grade == FindingGrade::Mistake;
    });
}

DocumentCheck check_document(std::string_view json) {
    auto root = parse_json(json, kMaxManifest);
    if (!root)
        return {.findings = {{.problem = scrubbed(root.error().text, kMaxShownProblem)}},
                .is_complete = false};
    auto check = Checker{*root}.take();
    Application application;
    const bool is_usable = read_document(*root, application, UnknownWords::Lose).empty() &&
                           (application.selection || application.manifest);
    if (is_usable) {
        application.name =
            application.selection ? application.selection->name : application.manifest->name;
        check.application = std::move(application);
    }
    return check;
}

std::string text_of(const DocumentFinding& finding) {
    const auto lead = finding.path.empty() ? "" : finding.path + ": ";
    if (finding.grade == FindingGrade::Warning)
        return lead + finding.problem +
               "; a newer version of gpuprobe may support it: " + finding.word.value_or("");
    if (!finding.meant)
        return lead + finding.problem;
    // The path of an item of a list does not contain the item's word.
    const bool shows_word = finding.word && !finding.path.ends_with(*finding.word) &&
                            finding.problem.find(*finding.word) == std::string::npos;
    const auto word = shows_word ? " '" + *finding.word + "'" : "";
    const auto place = finding.place ? " in " + *finding.place : "";
    return lead + finding.problem + word + "; did you mean '" + *finding.meant + "'" + place + "?";
}

MachineOutcome outcome_on(const Application& application,
                          std::string machine,
                          const Report& report) {
    MachineOutcome outcome{.machine = std::move(machine)};
    const auto* manifest = application.manifest ? &*application.manifest : nullptr;
    const auto* profile = application.selection ? &*application.selection : nullptr;
    if (profile)
        if (const auto decision = select(*profile, {}, report, {}, manifest))
            outcome.backend = decision->backend;
    if (!manifest)
        return outcome;
    const auto answer = recommend(*manifest, {}, report, Rules::current(), {},
                                  profile ? selection_view(*profile, {}, report) : SelectionView{});
    outcome.status = answer.status;
    outcome.variant = answer.variant;
    outcome.verdict = answer.verdict;
    outcome.gpus = answer.gpus;
    for (const auto& warning : answer.warnings)
        outcome.warnings.emplace_back(warning.code);
    return outcome;
}

}  // namespace gpuprobe::inline policy
