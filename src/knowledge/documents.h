// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/builtin_document.h"
#include "base/record.h"
#include "base/value.h"

namespace gpuprobe::knowledge {

/// JSON files that were embedded at build time (cmake/embed_json.cmake), sorted by name. `Library`
/// decides which data files are in use. These are the files directly in data/knowledge.
std::span<const BuiltinDocument> builtin_knowledge();
/// Reasons why a GPU is not used: data/knowledge/causes.
std::span<const BuiltinDocument> builtin_causes();
/// How well-known applications choose backends, and their variants: data/knowledge/consumers.
std::span<const BuiltinDocument> builtin_consumers();
/// Facts about toolkits, drivers and architectures, each with its sources: data/rules.
std::span<const BuiltinDocument> builtin_rules();

constexpr Bytes kMaxDocument = kib(512);

/// Reads a data file as a record that has the member `schema`. Errors: Malformed, also for another
/// schema; TooLarge.
template <class Document>
Result<Document> document_from(std::string_view json, std::string_view schema) {
    const auto value = TRY(parse_json(json, kMaxDocument));
    auto document = TRY(record_from<Document>(value));
    if (document.schema != schema)
        return Error{ErrorCode::Malformed, "schema: expected " + std::string{schema}};
    return document;
}

}  // namespace gpuprobe::knowledge
