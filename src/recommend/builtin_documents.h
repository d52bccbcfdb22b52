// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

/// JSON files as they were at build time, sorted by name (cmake/embed_json.cmake).
namespace gpuprobe {

struct BuiltinDocument {
    std::string_view name = {};  ///< of the file, without ".json"
    std::string_view json = {};
};

/// data/rules: tables of facts about toolkits, drivers and architectures, each with its sources.
std::span<const BuiltinDocument> builtin_rules();
/// data/catalogue: manifests of well-known products.
std::span<const BuiltinDocument> builtin_catalogue();

}  // namespace gpuprobe
