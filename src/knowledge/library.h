// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/record.h"
#include "base/result.h"
#include "base/units.h"
#include "base/value.h"
#include "base/version.h"

namespace gpuprobe::knowledge {

/// A JSON file that was embedded at build time (cmake/embed_json.cmake).
struct BuiltinDocument {
    std::string_view name = {};  ///< the file's name without ".json"
    std::string_view json = {};
};

/// The embedded files that are directly in data/knowledge, not in a subfolder, sorted by name.
/// `Library` decides which data files are in use.
std::span<const BuiltinDocument> builtin_knowledge();
/// Reasons why a GPU isn't used: data/knowledge/causes.
std::span<const BuiltinDocument> builtin_causes();
/// Rules and variants of well-known applications: data/knowledge/applications.
std::span<const BuiltinDocument> builtin_applications();
/// Facts about toolkits, drivers and architectures, each with its sources, from data/rules.
std::span<const BuiltinDocument> builtin_rules();

constexpr Bytes kMaxDocument = kib(512);

/// Reads a data file as a record that has the member `schema`. Errors: TooLarge, and Malformed,
/// also if the file has another schema.
template <class Document>
Result<Document> document_from(std::string_view json, std::string_view schema) {
    const auto value = TRY(parse_json(json, kMaxDocument));
    auto document = TRY(record_from<Document>(value));
    if (document.schema != schema)
        return Error{ErrorCode::Malformed, "schema: expected " + std::string{schema}};
    return document;
}

// The data files in use, which form the knowledge base, and the origin of each file:
// docs/data-files.md.

/// The origin of a data file. The first three origins provide sets of data files, and the
/// newest of these sets is used. A data file from the administrator replaces any other data file
/// with the same name.
enum class Origin { BuiltIn, Package, Bundle, Administrator };
constexpr auto names_of(Origin) {
    return std::to_array<EnumName<Origin>>({{Origin::BuiltIn, "built-in"},
                                            {Origin::Package, "package"},
                                            {Origin::Bundle, "bundle"},
                                            {Origin::Administrator, "etc"}});
}

/// The members at the beginning of a data file, before its first object or list. `expires` and
/// `issued` are days ("2026-11-22") or instants ("2026-11-22T00:00:00Z").
struct DocumentHead {
    std::string schema = {};
    std::optional<std::string> version = {};
    std::optional<std::string> issued = {};
    std::optional<std::string> expires = {};
    std::optional<std::string> checked = {};  ///< the day on which the sources were last checked
};
/// Reads the members at the beginning of a data file. Errors: Malformed if these members are not
/// JSON or if `schema` is missing.
Result<DocumentHead> head_of(std::string_view json);

/// Parses a day or an instant that is written as in DocumentHead::expires. A day means the first
/// instant of the day in UTC; nullopt for any other string.
std::optional<WallTime> instant_of(std::string_view text);

/// One data file of the knowledge base.
struct StoredDocument {
    std::string_view json = {};
    Origin origin = Origin::BuiltIn;
    std::string path = {};  ///< path of the file; empty if built in
    /// the buffer that contains `json`; null if built in
    std::shared_ptr<const std::string> text = {};
};

/// A complete set of data files from one origin, by name, such as "chips", "causes/access" or
/// "applications/torch".
struct DocumentSet {
    Version version = {};
    std::map<std::string, StoredDocument, std::less<>> documents = {};
};

/// A data file that is in use although it is past its expiry date.
struct ExpiredDocument {
    std::string name = {};
    std::string path = {};  ///< path of the file; empty if built in
    std::optional<std::string> issued = {};
    std::string expired = {};
};

/// The data file that describes a whole set. The version of the data file "release" is the version
/// of the set.
constexpr std::string_view kRelease = "release";
constexpr std::string_view kReleaseSchema = "gpuprobe.knowledge/1";

/// True if the name is allowed for a data file. Allowed names are the names of built-in files, and
/// any name in "applications/" or "causes/" that cannot lead out of the folder.
bool is_document_name(std::string_view name);

/// The knowledge base. Not thread-safe.
class Library {
public:
    /// The knowledge base in use, which is the built-in knowledge base until use() is called.
    static const std::shared_ptr<const Library>& current();
    /// Replaces the knowledge base in use. Invalidates all references to rows of tables.
    static void use(std::shared_ptr<const Library> library);

    /// The built-in knowledge base. Always returns a reference to the same object.
    static const std::shared_ptr<const Library>& compiled_in();
    Library();
    /// Replaces data files with the data files of a newer set; files that are missing in the newer
    /// set are kept. Returns false and does nothing if the set isn't newer.
    bool add(const DocumentSet& set);
    /// Adds or replaces one data file. Errors: Malformed if the name is invalid.
    Status add(std::string_view name, StoredDocument document);

    /// The data file with the given name; nullptr if there is no such file.
    [[nodiscard]] const StoredDocument* find(std::string_view name) const;
    /// The data files in a folder; the keys are the names without the folder.
    [[nodiscard]] std::map<std::string, const StoredDocument*> below(std::string_view folder) const;
    [[nodiscard]] const std::map<std::string, StoredDocument, std::less<>>& all() const {
        return documents_;
    }
    [[nodiscard]] const Version& version() const { return version_; }
    [[nodiscard]] Origin origin() const { return origin_; }
    /// The data files that have expired at `now`, sorted by name. Data files about applications are
    /// left out, because each recommendation itself warns if the application's data file has
    /// expired.
    [[nodiscard]] std::vector<ExpiredDocument> expired(WallTime now) const;

private:
    /// A document and the instant at which it expires.
    struct Ageing {
        WallTime expires = {};
        ExpiredDocument document = {};
    };
    [[nodiscard]] std::vector<Ageing> ageing() const;

    Version version_ = {};
    Origin origin_ = Origin::BuiltIn;
    std::map<std::string, StoredDocument, std::less<>> documents_ = {};
    mutable std::optional<std::vector<Ageing>> ageing_ = {};  ///< computed on first use
};

/// The JSON of a built-in data file; empty if there is no built-in file with this name.
std::string_view compiled_in_text(std::string_view name);

/// Frees all tables that were computed from data files. A table is computed again when it is
/// needed. Invalidates all references to rows of tables.
void forget_tables();
/// Registers a function that forget_tables() calls.
void on_forget(void (*forget)());

/// Returns `make(library)` for the knowledge base in use. The result is cached until another
/// knowledge base is put into use or until forget_tables() is called. There is one cache for each
/// type of `make`, so each call needs its own lambda.
template <class Make>
const auto& made_of_documents(Make make) {
    static std::shared_ptr<const Library> of;
    static std::optional<std::invoke_result_t<Make, const Library&>> made;
    static const bool is_known = [] {
        on_forget([] {
            made.reset();
            of.reset();
        });
        return true;
    }();
    if (is_known && made && of == Library::current())
        return *made;
    of = Library::current();
    made.reset();
    return made.emplace(make(*of));
}

/// Reads a data file into a table by calling `Table::from`. Falls back to the built-in file if the
/// file in use is malformed.
template <class Table>
Table table_of(const Library& library, std::string_view name) {
    const auto* document = library.find(name);
    auto read = Table::from(document ? document->json : std::string_view{});
    if (!read)
        read = Table::from(compiled_in_text(name));
    return std::move(read).value_or({});
}

/// The table from one of the data files in use. If another knowledge base is put into use, the
/// table is kept if both knowledge bases refer to the same JSON in memory.
template <class Table>
const Table& table_in_use(std::string_view name) {
    struct Kept {
        std::shared_ptr<const Library> of = {};
        std::string_view text = {};
        std::optional<Table> table = {};
    };
    static Kept kept;
    static const bool is_known = [] {
        on_forget([] { kept = {}; });
        return true;
    }();
    const auto& library = Library::current();
    if (is_known && kept.table && kept.of == library)
        return *kept.table;
    const auto* document = library->find(name);
    const auto text = document ? document->json : std::string_view{};
    if (!kept.table || text.data() != kept.text.data() || text.size() != kept.text.size())
        kept.table = table_of<Table>(*library, name);
    kept.text = text;
    // assigned last, so that the old JSON lives until the comparison above is done
    kept.of = library;
    return *kept.table;
}

}  // namespace gpuprobe::knowledge
