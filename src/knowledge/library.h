// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/clock.h"
#include "base/dotted_version.h"
#include "base/record.h"
#include "base/result.h"

/// The documents of knowledge that are in use, and where each is from: docs/knowledge.md.
namespace gpuprobe::knowledge {

/// Where a document is from. Of the first three the newest is used, as a whole; a document of the
/// administrator's stands over it by its name.
enum class Origin { BuiltIn, Package, Bundle, Administrator };
constexpr auto names_of(Origin) {
    return std::to_array<EnumName<Origin>>({{Origin::BuiltIn, "built-in"},
                                            {Origin::Package, "package"},
                                            {Origin::Bundle, "bundle"},
                                            {Origin::Administrator, "etc"}});
}

/// The members of a document before its first object or list. `expires` and `issued` are a day
/// ("2026-11-22") or an instant ("2026-11-22T00:00:00Z").
struct DocumentHead {
    std::string schema = {};
    std::optional<std::string> version = {};
    std::optional<std::string> issued = {};
    std::optional<std::string> expires = {};
};
/// Errors: Malformed where they are no JSON, or have no `schema`.
Result<DocumentHead> head_of(std::string_view json);

/// The instant at which a day or an instant of a document begins; nullopt for anything else.
std::optional<WallTime> instant_of(std::string_view text);

/// One document of a set.
struct StoredDocument {
    std::string_view json = {};
    Origin origin = Origin::BuiltIn;
    std::string path = {};                         ///< of its file; empty for what is compiled in
    std::shared_ptr<const std::string> text = {};  ///< what `json` is part of, if not compiled in
};

/// A whole set of documents of one origin, by name: "chips", "causes/access", "consumers/torch".
struct DocumentSet {
    Version version = {};
    std::map<std::string, StoredDocument, std::less<>> documents = {};
};

/// What a document that is in use has outlived.
struct ExpiredDocument {
    std::string name = {};
    std::optional<std::string> issued = {};
    std::string expired = {};
};

/// The name of a set's own document, which has the version of all.
constexpr std::string_view kRelease = "release";
constexpr std::string_view kReleaseSchema = "gpuprobe.knowledge/1";

/// Whether a document may be called so: as one that is compiled in, or a further one of
/// "consumers/" or "causes/". No such name leads out of a folder.
bool is_document_name(std::string_view name);

/// Which documents are in use. Not for several threads at once.
class Library {
public:
    /// Those in use: what is compiled in, until use() was called.
    static const std::shared_ptr<const Library>& current();
    /// From now on these. Whoever keeps a reference to a table's row must not do so across this.
    static void use(std::shared_ptr<const Library> library);

    /// What is compiled in; always the same one.
    static const std::shared_ptr<const Library>& compiled_in();
    Library();
    /// A set that is newer takes the place of the whole set so far, but of documents that it lacks.
    /// Returns whether it was newer.
    bool add(const DocumentSet& set);
    /// One document over all sets. Errors: Malformed for a name that is none.
    Status add(std::string_view name, StoredDocument document);

    /// Null where there is none.
    [[nodiscard]] const StoredDocument* find(std::string_view name) const;
    /// Those whose names start with `folder` and "/", by the rest of their names.
    [[nodiscard]] std::map<std::string, const StoredDocument*> below(std::string_view folder) const;
    [[nodiscard]] const std::map<std::string, StoredDocument, std::less<>>& all() const {
        return documents_;
    }
    [[nodiscard]] const Version& version() const { return version_; }
    [[nodiscard]] Origin origin() const { return origin_; }
    /// The documents that have expired by then, by name. Those of consumers are not among them:
    /// their products say it where they are asked for.
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
    mutable std::optional<std::vector<Ageing>> ageing_ = {};  ///< read when it is asked for
};

/// The text of a document as it is compiled in; empty where there is none.
std::string_view compiled_in_text(std::string_view name);

/// Frees what was made of documents; it is made again when it is asked for. Whoever keeps a
/// reference to a table's row must not do so across this.
void forget_tables();
/// Has forget_tables() call that, too.
void on_forget(void (*forget)());

/// What `make(library)` makes of the documents in use. Kept until others are in use, or until
/// forget_tables(); there is one for each `make`.
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

/// What `Table::from` makes of a document that is in use; where that is malformed, of the one that
/// is compiled in.
template <class Table>
Table table_of(const Library& library, std::string_view name) {
    const auto* document = library.find(name);
    auto read = Table::from(document ? document->json : std::string_view{});
    if (!read)
        read = Table::from(compiled_in_text(name));
    return std::move(read).value_or({});
}

/// The table that is made of one document. It stays as it is where the text of that one is the same
/// in the documents that are used now.
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
    kept.of = library;  // last: until here the text before is at its place
    return *kept.table;
}

}  // namespace gpuprobe::knowledge
