// SPDX-License-Identifier: Apache-2.0
#include "knowledge/library.h"

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "base/value.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kApplications = "applications";
constexpr std::string_view kCauses = "causes";
constexpr Bytes kMaxHead = kib(8);
constexpr std::size_t kMaxName = 64;

/// A folder of data files, and the function that returns the built-in data files of that folder.
struct Folder {
    std::string_view name;
    std::span<const BuiltinDocument> (*documents)();
};
constexpr Folder kFolders[] = {{"", builtin_knowledge},
                               {kCauses, builtin_causes},
                               {kApplications, builtin_applications},
                               {"rules", builtin_rules}};

std::string name_in(std::string_view folder, std::string_view name) {
    return folder.empty() ? std::string{name} : std::string{folder} + "/" + std::string{name};
}

/// Whether a file name contains no slashes or special characters, isn't hidden, and isn't too
/// long.
bool is_plain_name(std::string_view name) {
    constexpr std::string_view kMarks = "._-";
    return !name.empty() && name.size() <= kMaxName && name.front() != '.' &&
           std::ranges::all_of(name, [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      kMarks.find(c) != std::string_view::npos;
           });
}

/// The members of a JSON object before its first object or list, as a JSON object. Reading only
/// these members makes it unnecessary to parse large files completely to get their version.
std::string head_text(std::string_view json) {
    std::size_t comma = 0;
    bool is_inside = false;
    const auto start = json.find('{');
    // This is a small scanner that knows only strings and escapes. `comma` is the end of the last
    // complete member.
    for (auto at = start; at < std::min<std::size_t>(json.size(), kMaxHead.count); ++at) {
        const char c = json[at];
        if (is_inside && c == '\\')
            ++at;
        else if (c == '"')
            is_inside = !is_inside;
        else if (!is_inside && c == ',')
            comma = at;
        else if (!is_inside && c == '}')
            return std::string{json.substr(start, at + 1 - start)};
        else if (!is_inside && at > start && (c == '{' || c == '['))
            break;
    }
    return comma == 0 ? "{}" : std::string{json.substr(start, comma - start)} + "}";
}

}  // namespace

template <class Visitor>
void describe(Visitor& visit, DocumentHead& head) {
    visit("schema", head.schema);
    visit("version", head.version);
    visit("issued", head.issued);
    visit("expires", head.expires);
    visit("checked", head.checked);
    std::optional<std::string> serial;  // the version of the rules, which is a part of all answers
    visit("serial", serial);
    if (!head.version)
        head.version = serial;
}

Result<DocumentHead> head_of(std::string_view json) {
    return record_from<DocumentHead>(TRY(parse_json(head_text(json), kMaxHead)));
}

std::optional<WallTime> instant_of(std::string_view text) {
    constexpr std::string_view kMidnight = "T00:00:00Z";
    constexpr std::size_t kDay = 10;
    if (text.size() != kDay && text.size() != kDay + kMidnight.size())
        return std::nullopt;
    std::array<unsigned, 6> parts = {};
    constexpr std::array<std::size_t, 6> kStarts = {0, 5, 8, 11, 14, 17};
    for (std::size_t i = 0; i < parts.size() && kStarts[i] < text.size(); ++i) {
        const auto part = parse_number<unsigned>(text.substr(kStarts[i], i == 0 ? 4 : 2));
        if (!part)
            return std::nullopt;
        parts[i] = *part;
    }
    // The digits were checked above; now check the characters between the digits.
    const std::string_view form = "0000-00-00T00:00:00Z";
    for (std::size_t i = 0; i < text.size(); ++i)
        if (form[i] != '0' && form[i] != text[i])
            return std::nullopt;
    using namespace std::chrono;
    const year_month_day date{year{static_cast<int>(parts[0])}, month{parts[1]}, day{parts[2]}};
    // A leap second is written as :60.
    if (!date.ok() || parts[3] > 23 || parts[4] > 59 || parts[5] > 60)
        return std::nullopt;
    return WallTime{sys_days{date} + hours{parts[3]} + minutes{parts[4]} + seconds{parts[5]}};
}

bool is_document_name(std::string_view name) {
    if (!compiled_in_text(name).empty())
        return true;
    const auto slash = name.find('/');
    const auto folder = name.substr(0, slash);
    return slash != std::string_view::npos && (folder == kApplications || folder == kCauses) &&
           is_plain_name(name.substr(slash + 1));
}

// A linear search is fast enough, because there are about a hundred files, and this function runs
// only once per file and start.
std::string_view compiled_in_text(std::string_view name) {
    const auto slash = name.find('/');
    const bool has_folder = slash != std::string_view::npos;
    for (const auto& folder : kFolders)
        if (folder.name == (has_folder ? name.substr(0, slash) : ""))
            for (const auto& document : folder.documents())
                if (document.name == (has_folder ? name.substr(slash + 1) : name))
                    return document.json;
    return {};
}

namespace {

/// The knowledge base in use; never null, so that current() can return a reference.
std::shared_ptr<const Library>& library_in_use() {
    static std::shared_ptr<const Library> library = Library::compiled_in();
    return library;
}

/// The functions that have been registered with on_forget(). There are about ten functions, and
/// each is registered once.
std::vector<void (*)()>& forgetting() {
    static std::vector<void (*)()> all;
    return all;
}

}  // namespace

void on_forget(void (*forget)()) {
    forgetting().push_back(forget);
}

void forget_tables() {
    for (const auto forget : forgetting())
        forget();
}

const std::shared_ptr<const Library>& Library::compiled_in() {
    static const std::shared_ptr<const Library> library = std::make_shared<Library>();
    return library;
}

const std::shared_ptr<const Library>& Library::current() {
    return library_in_use();
}

void Library::use(std::shared_ptr<const Library> library) {
    library_in_use() = std::move(library);
}

// The constructor starts with the built-in files. add() then replaces these files with the files of
// newer sets.
Library::Library() {
    for (const auto& folder : kFolders)
        for (const auto& document : folder.documents())
            documents_.emplace(name_in(folder.name, document.name),
                               StoredDocument{.json = document.json});
    const auto head = head_of(compiled_in_text(kRelease)).value_or({});
    version_ =
        parse_text(std::string_view{head.version.value_or("")}, std::type_identity<Version>{})
            .value_or(Version{});
}

bool Library::add(const DocumentSet& set) {
    if (set.version <= version_)
        return false;
    ageing_.reset();
    version_ = set.version;
    // All files of a set have the same origin.
    for (const auto& [name, document] : set.documents) {
        origin_ = document.origin;
        documents_[name] = document;
    }
    return true;
}

Status Library::add(std::string_view name, StoredDocument document) {
    if (!is_document_name(name))
        return Error{ErrorCode::Malformed, "not the name of a data file"};
    ageing_.reset();
    documents_[std::string{name}] = std::move(document);
    return Done{};
}

const StoredDocument* Library::find(std::string_view name) const {
    const auto found = documents_.find(name);
    return found == documents_.end() ? nullptr : &found->second;
}

std::map<std::string, const StoredDocument*> Library::below(std::string_view folder) const {
    // The map is sorted, so the files of a folder are one range.
    const auto prefix = std::string{folder} + "/";
    std::map<std::string, const StoredDocument*> found;
    for (auto at = documents_.lower_bound(prefix);
         at != documents_.end() && at->first.starts_with(prefix); ++at)
        found.emplace(at->first.substr(prefix.size()), &at->second);
    return found;
}

// Reads the beginning of all files. Reading takes time, so expired() caches the result.
std::vector<Library::Ageing> Library::ageing() const {
    std::vector<Ageing> found;
    for (const auto& [name, document] : documents_) {
        // Skip data files of applications, because recommendations themselves report that such a
        // file has expired.
        if (name.starts_with(kApplications))
            continue;
        const auto head = head_of(document.json).value_or({});
        if (const auto expires = instant_of(head.expires.value_or("")))
            found.push_back({*expires,
                             {.name = name,
                              .path = document.path,
                              .issued = head.issued,
                              .expired = *head.expires}});
    }
    return found;
}

std::vector<ExpiredDocument> Library::expired(WallTime now) const {
    if (!ageing_)
        ageing_ = ageing();
    std::vector<ExpiredDocument> found;
    for (const auto& one : *ageing_)
        if (now >= one.expires)
            found.push_back(one.document);
    return found;
}

}  // namespace gpuprobe::knowledge
