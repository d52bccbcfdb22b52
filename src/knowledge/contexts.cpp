// SPDX-License-Identifier: Apache-2.0
#include "knowledge/contexts.h"

#include <algorithm>
#include <utility>

#include "knowledge/documents.h"
#include "knowledge/library.h"

namespace gpuprobe::knowledge {
namespace {

constexpr std::string_view kContexts = "contexts";
constexpr std::string_view kContextsSchema = "gpuprobe.contexts/1";
/// Limit for plausibility: no driver's context is this large.
constexpr std::uint64_t kMaxContextMib = 8192;

struct ContextsDocument {
    std::string schema = {};
    std::vector<ContextSize> backends = {};
};
RECORD_MEMBERS(ContextsDocument, schema, backends)

/// Checks a row. Its origin must be documented, because the numbers cannot be verified.
Status check(const ContextSize& row) {
    const auto problem = row.backend.empty()                ? "backend: missing"
                         : row.context_mib > kMaxContextMib ? "context_mib: too large"
                         : row.program_mib > kMaxContextMib ? "program_mib: too large"
                         : row.source.how.empty()           ? "source: how: missing"
                                                            : nullptr;
    if (problem)
        return Error{ErrorCode::Malformed, row.backend + ": " + problem};
    return Done{};
}

}  // namespace

const Contexts& Contexts::current() {
    return made_of_documents([](const Library& library) {
        auto contexts = table_of<Contexts>(library, kContexts);
        // A newer data file may list fewer backends than this program knows.
        contexts.add_missing(table_of<Contexts>(*Library::compiled_in(), kContexts));
        return contexts;
    });
}

Result<Contexts> Contexts::from(std::string_view json) {
    auto document = TRY(document_from<ContextsDocument>(json, kContextsSchema));
    Contexts contexts;
    for (auto& row : document.backends) {
        TRY(check(row));
        if (contexts.find(row.backend))
            return Error{ErrorCode::Malformed, row.backend + ": named twice"};
        contexts.rows_.push_back(std::move(row));
    }
    return contexts;
}

const ContextSize* Contexts::find(std::string_view backend) const {
    const auto found = std::ranges::find(rows_, backend, &ContextSize::backend);
    return found == rows_.end() ? nullptr : &*found;
}

void Contexts::add_missing(const Contexts& others) {
    for (const auto& row : others.rows_)
        if (!find(row.backend))
            rows_.push_back(row);
}

}  // namespace gpuprobe::knowledge
