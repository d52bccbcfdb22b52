// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/bytes.h"

namespace gpuprobe::inline plan {

/// How ggml stores numbers of one type: `block` of them in `bytes`.
struct GgmlType {
    std::uint32_t id = 0;
    std::string_view name = {};
    std::uint32_t block = 1;
    std::uint32_t bytes = 1;
};

/// nullptr for an id that is unknown, was removed, or never stands in a file.
/// Source: enum ggml_type (ggml/include/ggml.h) and the block structures of ggml/src/ggml-common.h,
/// ggml of August 2026.
const GgmlType* ggml_type(std::uint32_t id);
/// The same by name, in capital letters or not: "q4_K", "Q4_K".
const GgmlType* ggml_type(std::string_view name);

/// A type that llama.cpp takes for its cache, by name: "f16", "q8_0" … nullptr for any other.
/// Source: kv_cache_types in common/arg.cpp of llama.cpp.
const GgmlType* cache_type(std::string_view name);

/// What a row of so many numbers takes. A row that ends within a block takes the whole block.
Bytes row_bytes(const GgmlType& type, std::uint64_t numbers);

}  // namespace gpuprobe::inline plan
