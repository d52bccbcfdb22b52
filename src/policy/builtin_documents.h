// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/builtin_document.h"

/// JSON files as they were at build time, sorted by name (cmake/embed_json.cmake).
namespace gpuprobe::inline policy {

/// data/rules: tables of facts about toolkits, drivers and architectures, each with its sources.
std::span<const BuiltinDocument> builtin_rules();
/// data/knowledge/consumers: how well-known programs choose, and their builds.
std::span<const BuiltinDocument> builtin_consumers();

}  // namespace gpuprobe::inline policy
