// SPDX-License-Identifier: Apache-2.0
#include "knowledge/selectors.h"

#include <algorithm>
#include <set>

#include "knowledge/documents.h"
#include "knowledge/library.h"
#include "knowledge/variables.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kSelectorsSchema = "gpuprobe.selectors/1";
constexpr std::string_view kGgml = "ggml";  // ggml uses its own names for devices of other APIs

struct SelectorsDocument {
    std::string schema = {};
    std::vector<Reader> readers = {};
    std::vector<UseRow> use = {};
};

Error malformed(const std::string& where, const std::string& what) {
    return Error{ErrorCode::Malformed, "selectors: " + where + ": " + what};
}

/// All variables that the readers of an API read. An empty `api` means all APIs.
std::set<std::string> read_below(const std::vector<Reader>& readers, std::string_view api) {
    std::set<std::string> names;
    for (const auto& reader : readers)
        if (api.empty() || reader.api == api)
            names.insert(reader.reads.begin(), reader.reads.end());
    return names;
}

/// Checks that some reader reads each variable, and that its value is allowed.
Status check(const std::string& where,
             const Variables& variables,
             const std::set<std::string>& known) {
    for (const auto& [name, text] : variables) {
        if (!known.contains(name))
            return malformed(where, name + ": nobody reads it");
        if (const auto problem = value_problem(name, text))
            return malformed(where, name + ": " + *problem);
    }
    return Done{};
}

/// Checks that a data file may name the reader's variables (variables.h).
Status check_names(const Reader& reader) {
    auto names = reader.reads;
    for (const auto& [name, form] : reader.lists)
        names.push_back(name);
    for (const auto& name : names)
        if (const auto problem = variable_problem(name, ""))
            return malformed(reader.name, name + ": " + *problem);
    return Done{};
}

Status check(const SelectorsDocument& document) {
    std::set<std::string> names;
    for (const auto& reader : document.readers) {
        // find() needs unique names.
        if (!names.insert(reader.name).second)
            return malformed(reader.name, "named twice");
        TRY(check_names(reader));
        // A reader hides GPUs through its own variables only.
        TRY(check(reader.name, reader.hide, {reader.reads.begin(), reader.reads.end()}));
    }
    // A variable that no library reads would have no effect; reject it as a typing mistake.
    for (const auto& row : document.use) {
        // ggml's names may be combined with variables of any API.
        const auto known = read_below(document.readers, row.api == kGgml ? "" : row.api);
        TRY(check("use: " + row.api, row.variables, known));
        TRY(check("use: " + row.api, row.environment, known));
        // Exactly one of the two must be given.
        if (row.variables.empty() == !row.argument.has_value())
            return malformed("use: " + row.api, "expected either variables or an argument");
    }
    return Done{};
}

}  // namespace

RECORD_MEMBERS(Reader, name, api, reads, hide, lists, reaches)

RECORD_MEMBERS(UseRow, api, kind, variables, argument, environment)

namespace {

RECORD_MEMBERS(SelectorsDocument, schema, readers, use)

}  // namespace

const Selectors& Selectors::current() {
    return table_in_use<Selectors>("selectors");
}

Result<Selectors> Selectors::from(std::string_view json) {
    auto document = TRY(document_from<SelectorsDocument>(json, kSelectorsSchema));
    TRY(check(document));
    Selectors selectors;
    selectors.readers_ = std::move(document.readers);
    selectors.uses_ = std::move(document.use);
    return selectors;
}

const Reader* Selectors::find(std::string_view name) const {
    const auto found = std::ranges::find(readers_, name, &Reader::name);
    return found == readers_.end() ? nullptr : &*found;
}

}  // namespace gpuprobe::knowledge
