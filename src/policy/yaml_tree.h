// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace gpuprobe {

enum class YamlKind { Null, Text, List, Mapping };

/// A node of YAML. Others are named by their number in the tree: an alias is the number of what it
/// stands for, so that nothing is ever expanded.
struct YamlNode {
    YamlKind kind = YamlKind::Null;
    std::string text = {};
    std::vector<std::size_t> items = {};                            ///< of a list
    std::vector<std::pair<std::string, std::size_t>> members = {};  ///< of a mapping, without `<<`
    std::vector<std::size_t> merged = {};                           ///< what `<<` names
};

using YamlMembers = std::map<std::string_view, const YamlNode*>;

struct YamlTree {
    std::vector<YamlNode> nodes = {};  ///< the first is the document; never empty

    const YamlNode& root() const { return nodes.front(); }
    const YamlNode& at(std::size_t number) const { return nodes.at(number); }

    /// Members of a mapping with those of the mappings that it merges: its own count first, then
    /// the first one merged, as https://yaml.org/type/merge.html says.
    ///
    /// Errors: Malformed for what is no mapping, and for more than kMaxYamlMerges.
    Result<YamlMembers> members_of(const YamlNode& mapping) const;
};

constexpr std::size_t kMaxYamlDepth = 16;
constexpr std::size_t kMaxYamlNodes = 262'144;
constexpr std::size_t kMaxYamlMembers = 64;  ///< of one mapping
constexpr std::size_t kMaxYamlMerges = 16;   ///< mappings that one takes in, over all levels

/// One YAML document. Every scalar is a text, `~` and nothing excepted.
///
/// Errors: TooLarge over `limit`; Malformed with the line, for what is no YAML, a second document,
/// a member twice, a key that is no text, and over the limits above.
Result<YamlTree> parse_yaml(std::string_view text, Bytes limit);

}  // namespace gpuprobe
