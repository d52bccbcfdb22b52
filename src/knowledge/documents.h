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

/// JSON files as they were at build time, sorted by name (cmake/embed_json.cmake). Which are in use
/// says `Library`. Of data/knowledge itself:
std::span<const BuiltinDocument> builtin_knowledge();
/// Why a GPU is not used: data/knowledge/causes.
std::span<const BuiltinDocument> builtin_causes();
/// How well-known programs choose, and their builds: data/knowledge/consumers.
std::span<const BuiltinDocument> builtin_consumers();
/// Tables of facts about toolkits, drivers and architectures, each with its sources: data/rules.
std::span<const BuiltinDocument> builtin_rules();

constexpr Bytes kMaxDocument = kib(512);

/// A document as a record, which has its member `schema`.
/// Errors: Malformed for another schema too; TooLarge.
template <class Document>
Result<Document> document_from(std::string_view json, std::string_view schema) {
    const auto value = TRY(parse_json(json, kMaxDocument));
    auto document = TRY(record_from<Document>(value));
    if (document.schema != schema)
        return Error{ErrorCode::Malformed, "schema: expected " + std::string{schema}};
    return document;
}

}  // namespace gpuprobe::knowledge
