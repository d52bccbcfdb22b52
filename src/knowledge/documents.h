// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/builtin_document.h"
#include "base/record.h"
#include "base/value_json.h"

namespace gpuprobe::knowledge {

/// data/knowledge as it was at build time, sorted by name (cmake/embed_json.cmake).
std::span<const BuiltinDocument> builtin_knowledge();

/// A document as a record, which has its member `schema`.
/// Errors: Malformed for another schema too; TooLarge.
template <class Document>
Result<Document> document_from(std::string_view json, std::string_view schema) {
    constexpr Bytes kMaxDocument = kib(512);
    const auto value = TRY(parse_json(json, kMaxDocument));
    auto document = TRY(record_from<Document>(value));
    if (document.schema != schema)
        return Error{ErrorCode::Malformed, "schema: expected " + std::string{schema}};
    return document;
}

/// What `Table::from` makes of the document that is compiled in; an empty table where that is
/// malformed, a bug of ours that a test finds.
template <class Table>
Table compiled_in(std::string_view name) {
    for (const auto& document : builtin_knowledge())
        if (document.name == name)
            if (auto read = Table::from(document.json))
                return std::move(read).value();
    return {};
}

}  // namespace gpuprobe::knowledge
