// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/units.h"

namespace gpuprobe::inline plan {

/// A number type of ggml: `block` numbers are stored in `bytes` bytes.
struct GgmlType {
    std::uint32_t id = 0;
    std::string_view name = {};
    std::uint32_t block = 1;
    std::uint32_t bytes = 1;
};

/// The type with the id `id`; nullptr if the id is unknown, was removed, or never occurs in files.
/// Source: enum ggml_type (ggml/include/ggml.h) and the block structures in ggml/src/ggml-common.h,
/// ggml of August 2026.
const GgmlType* ggml_type(std::uint32_t id);
/// The type with the name `name`, in upper or lower case, such as "q4_K" or "Q4_K".
const GgmlType* ggml_type(std::string_view name);

/// The type with the name `name`, such as "f16" or "q8_0", if llama.cpp accepts this type for its
/// cache; otherwise nullptr. Source: kv_cache_types in common/arg.cpp of llama.cpp.
const GgmlType* cache_type(std::string_view name);

/// The size of a row with `numbers` numbers. A last block that is incomplete takes as many bytes as
/// a whole block.
Bytes row_bytes(const GgmlType& type, std::uint64_t numbers);

/// Limits for the reader. Current models need less than a tenth of each limit.
constexpr Bytes kMaxGgufHeader = mib(128);
constexpr std::uint64_t kMaxGgufKeys = 4096;
constexpr std::uint64_t kMaxGgufTensors = 65536;
constexpr std::uint64_t kMaxGgufKeyBytes = 65535;  ///< the limit of the GGUF format
/// maximum length of a tensor's name; the format allows 64
constexpr std::uint64_t kMaxGgufNameBytes = 256;
constexpr std::uint64_t kMaxGgufTextBytes = 4096;  ///< longer values are skipped
constexpr std::uint64_t kMaxGgufListItems = 1024;  ///< longer lists are skipped
constexpr std::uint32_t kMaxGgufDimensions = 4;    ///< GGML_MAX_DIMS
constexpr std::uint32_t kMaxGgufAlignment = 1U << 20U;

/// A tensor that the header lists.
struct GgufTensor {
    std::string name = {};
    Bytes size = {};
    std::uint64_t rows = 0;      ///< number of rows; a row is one line along the first dimension
    std::uint64_t width = 0;     ///< length of a row
    std::string_view type = {};  ///< name of the type, as in GgmlType
    bool operator==(const GgufTensor&) const = default;
};

/// A tensor with a shape and a type (nullptr if the type is unknown). Errors: Malformed if the type
/// is unknown, if there are no dimensions or more than kMaxGgufDimensions, or if a row ends within
/// a block.
Result<GgufTensor> tensor_of(std::string name,
                             const GgmlType* type,
                             const std::vector<std::uint64_t>& shape);

/// A metadata value: an integer, a boolean, a short list of integers or booleans, or a short
/// string. All other values (tokens, merges, floats, templates) are skipped.
using GgufValue = std::variant<std::int64_t, std::vector<std::int64_t>, std::string>;

/// The header of a GGUF file.
struct Gguf {
    std::uint32_t version = 0;
    std::map<std::string, GgufValue> values = {};
    std::set<std::string> keys = {};  ///< keys of all values, including skipped values
    std::vector<GgufTensor> tensors = {};

    /// The value of a key; nullopt or nullptr if the value is missing, was skipped, has another
    /// type or, in number(), is negative.
    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
    [[nodiscard]] const std::vector<std::int64_t>* list(std::string_view key) const;
    /// The string value of a key, made safe for a terminal or a bus; nullopt if the value is
    /// missing, was skipped or has another type.
    [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
};

/// Reads the header from `window`, which contains the first bytes of a file of the size
/// `file_size`. Returns nullopt if the header is longer than the window; call the function again
/// with a larger window. The size of the window limits the time and memory that the function needs.
///
/// Errors: Malformed, with a message of the form "byte N: reason", if the file isn't a
/// little-endian GGUF of version 2 or 3, if it contains a key or tensor twice, or if a tensor is
/// not within the file; TooLarge if the file exceeds one of the limits above. Source: docs/gguf.md
/// and src/gguf.cpp of ggml.
Result<std::optional<Gguf>> parse_gguf(std::string_view window, Bytes file_size);

/// The position of a part, counted from 1, and the number of parts, from the end of a file name
/// such as "-00002-of-00005.gguf".
struct GgufPart {
    std::uint32_t number = 1;
    std::uint32_t count = 1;
    std::string stem = {};  ///< the file name up to "-00002-of-"
    bool operator==(const GgufPart&) const = default;
};
/// The part of a model that a file contains, according to its name; nullopt if the name does not
/// end like the name of a part.
std::optional<GgufPart> gguf_part(std::string_view file_name);
/// The file name of another part of the same model.
std::string gguf_part_name(const GgufPart& part, std::uint32_t number);
constexpr std::uint32_t kMaxGgufParts = 512;

/// Joins the parts of one model: the values of the first part and the tensors of all parts. Errors:
/// Malformed if the parts do not fit together according to their own metadata (split.no,
/// split.count, split.tensors.count), or if a tensor is in two parts.
Result<Gguf> joined(std::vector<Gguf> parts);

}  // namespace gpuprobe::inline plan
