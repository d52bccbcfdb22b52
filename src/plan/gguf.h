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

#include "base/bytes.h"
#include "base/result.h"
#include "plan/ggml_type.h"

namespace gpuprobe::inline plan {

/// Limits of what is read. Models of today stay below a tenth of each.
constexpr Bytes kMaxGgufHeader = mib(128);
constexpr std::uint64_t kMaxGgufKeys = 4096;
constexpr std::uint64_t kMaxGgufTensors = 65536;
constexpr std::uint64_t kMaxGgufKeyBytes = 65535;  ///< the format's own limit
constexpr std::uint64_t kMaxGgufNameBytes = 256;   ///< of a tensor; the format says 64
constexpr std::uint64_t kMaxGgufTextBytes = 4096;  ///< of a text that is kept; longer is skipped
constexpr std::uint64_t kMaxGgufListItems = 1024;  ///< of a list that is kept; longer is skipped
constexpr std::uint32_t kMaxGgufDimensions = 4;    ///< GGML_MAX_DIMS
constexpr std::uint32_t kMaxGgufAlignment = 1U << 20U;

/// One tensor as the header lists it.
struct GgufTensor {
    std::string name = {};
    Bytes size = {};
    std::uint64_t rows = 0;      ///< of the first dimension's length
    std::uint64_t width = 0;     ///< that length
    std::string_view type = {};  ///< as ggml_type.h names it
    bool operator==(const GgufTensor&) const = default;
};

/// A tensor of that type, nullptr for one that is unknown, and shape. Errors: Malformed for an
/// unknown type, no dimension or more than kMaxGgufDimensions, and rows that end within a block.
Result<GgufTensor> tensor_of(std::string name,
                             const GgmlType* type,
                             const std::vector<std::uint64_t>& shape);

/// What is kept of a metadata value: whole numbers and booleans, short lists of them, short texts.
/// Everything else (tokens, merges, floats, templates) is stepped over.
using GgufValue = std::variant<std::int64_t, std::vector<std::int64_t>, std::string>;

/// The header of a GGUF file.
struct Gguf {
    std::uint32_t version = 0;
    std::map<std::string, GgufValue> values = {};
    std::set<std::string> keys = {};  ///< of all values, those that are not kept too
    std::vector<GgufTensor> tensors = {};

    [[nodiscard]] std::optional<std::uint64_t> number(std::string_view key) const;
    [[nodiscard]] const std::vector<std::int64_t>* list(std::string_view key) const;
    /// Scrubbed for a terminal or a bus.
    [[nodiscard]] std::optional<std::string> text(std::string_view key) const;
};

/// Reads the header from `window`, the first bytes of a file of `file_size`. nullopt: the header
/// goes on behind the window, which has to be larger. Time and memory are bounded by the window's
/// size.
///
/// Errors: Malformed "byte N: reason" for what is no little-endian GGUF of version 2 or 3, names a
/// key or a tensor twice, or places a tensor outside the file; TooLarge over a limit above.
/// Source: docs/gguf.md and src/gguf.cpp of ggml.
Result<std::optional<Gguf>> parse_gguf(std::string_view window, Bytes file_size);

/// The number of the part and how many there are, both from 1, of a name that ends like
/// "-00002-of-00005.gguf"; nullopt for any other name.
struct GgufPart {
    std::uint32_t number = 1;
    std::uint32_t count = 1;
    std::string stem = {};  ///< the name before "-00002-of-"
    bool operator==(const GgufPart&) const = default;
};
std::optional<GgufPart> gguf_part(std::string_view file_name);
/// The name of part `number`.
std::string gguf_part_name(const GgufPart& part, std::uint32_t number);
constexpr std::uint32_t kMaxGgufParts = 512;

/// The parts of one model as one: the first one's values, everybody's tensors. Errors: Malformed
/// when they do not belong together by their own account (split.no, split.count,
/// split.tensors.count) or hold a tensor twice.
Result<Gguf> joined(std::vector<Gguf> parts);

}  // namespace gpuprobe::inline plan
