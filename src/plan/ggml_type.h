// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/units.h"

namespace gpuprobe::inline plan {

/// A number type of ggml: `block` numbers are stored in `bytes` bytes.
struct GgmlType {
    std::uint32_t id = 0;
    std::string_view name = {};
    std::uint32_t block = 1;
    std::uint32_t bytes = 1;
};

/// The type of an id; nullptr if the id is unknown, was removed, or never occurs in files. Source:
/// enum ggml_type (ggml/include/ggml.h) and the block structures in ggml/src/ggml-common.h, ggml of
/// August 2026.
const GgmlType* ggml_type(std::uint32_t id);
/// The type of a name, in upper or lower case: "q4_K", "Q4_K".
const GgmlType* ggml_type(std::string_view name);

/// A type that llama.cpp accepts for its cache, by name: "f16", "q8_0" …; nullptr for any other.
/// Source: kv_cache_types in common/arg.cpp of llama.cpp.
const GgmlType* cache_type(std::string_view name);

/// The size of a row of `numbers` numbers. An incomplete last block takes a whole block.
Bytes row_bytes(const GgmlType& type, std::uint64_t numbers);

}  // namespace gpuprobe::inline plan
