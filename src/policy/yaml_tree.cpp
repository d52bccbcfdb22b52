// SPDX-License-Identifier: Apache-2.0
#include "policy/yaml_tree.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "base/parse.h"

namespace gpuprobe {
namespace {

constexpr const char* kMerge = "<<";
constexpr const char* kPlain = "?";  ///< how yaml-cpp tags a scalar without quotes
constexpr const char* kMergeTag = "tag:yaml.org,2002:merge";

/// Builds the tree from events. yaml-cpp's own tree would leave `<<` alone and have no limits.
class TreeBuilder : public YAML::EventHandler {
public:
    YamlTree take() { return std::move(tree_); }

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (std::exchange(is_started_, true))
            throw YAML::ParserException(mark, "a second document");
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        attach(mark, add(mark, YamlKind::Null, anchor), false);
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        const auto found = anchors_.find(anchor);
        if (found == anchors_.end())
            throw YAML::ParserException(mark, "an alias of nothing");
        attach(mark, found->second, false);
    }
    void OnScalar(const YAML::Mark& mark,
                  const std::string& tag,
                  YAML::anchor_t anchor,
                  const std::string& value) override {
        const auto number = add(mark, YamlKind::Text, anchor);
        tree_.nodes[number].text = value;
        attach(mark, number, value == kMerge && (tag == kPlain || tag == kMergeTag));
    }
    void OnSequenceStart(const YAML::Mark& mark,
                         const std::string&,
                         YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        open(mark, YamlKind::List, anchor);
    }
    void OnSequenceEnd() override { open_.pop_back(); }
    void OnMapStart(const YAML::Mark& mark,
                    const std::string&,
                    YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        open(mark, YamlKind::Mapping, anchor);
    }
    void OnMapEnd() override { open_.pop_back(); }

private:
    struct Open {
        std::size_t number = 0;
        std::optional<std::string> key = {};  ///< of the value that comes next
        bool is_merge = false;                ///< the key is `<<`
    };

    std::size_t add(const YAML::Mark& mark, YamlKind kind, YAML::anchor_t anchor) {
        if (tree_.nodes.size() == kMaxYamlNodes)
            throw YAML::ParserException(mark, "more than 262144 nodes");
        tree_.nodes.push_back({.kind = kind});
        if (anchor != YAML::NullAnchor)
            anchors_[anchor] = tree_.nodes.size() - 1;
        return tree_.nodes.size() - 1;
    }

    void open(const YAML::Mark& mark, YamlKind kind, YAML::anchor_t anchor) {
        if (open_.size() == kMaxYamlDepth)
            throw YAML::ParserException(mark, "more than 16 levels deep");
        const auto number = add(mark, kind, anchor);
        attach(mark, number, false);
        open_.push_back({.number = number});
    }

    void attach(const YAML::Mark& mark, std::size_t number, bool is_merge) {
        if (open_.empty())
            return;
        auto& parent = tree_.nodes[open_.back().number];
        if (parent.kind == YamlKind::List)
            parent.items.push_back(number);
        else if (open_.back().key)
            attach_value(mark, parent, number);
        else
            attach_key(mark, parent, number, is_merge);
    }

    void attach_key(const YAML::Mark& mark, YamlNode& parent, std::size_t number, bool is_merge) {
        const auto& key = tree_.nodes[number];
        if (key.kind != YamlKind::Text)
            throw YAML::ParserException(mark, "a key that is no text");
        if (parent.members.size() == kMaxYamlMembers)
            throw YAML::ParserException(mark, "more than 64 members");
        const auto is_same = [&key](const auto& member) { return member.first == key.text; };
        if (!is_merge && std::ranges::any_of(parent.members, is_same))
            throw YAML::ParserException(mark, "twice: " + scrubbed(key.text));
        open_.back().key = key.text;
        open_.back().is_merge = is_merge;
    }

    void attach_value(const YAML::Mark& mark, YamlNode& parent, std::size_t number) {
        auto key = *std::exchange(open_.back().key, std::nullopt);
        if (!open_.back().is_merge)
            return static_cast<void>(parent.members.emplace_back(std::move(key), number));
        if (parent.merged.size() == kMaxYamlMerges)
            throw YAML::ParserException(mark, "merges more than 16 mappings");
        parent.merged.push_back(number);
    }

    YamlTree tree_ = {};
    std::vector<Open> open_ = {};
    std::map<YAML::anchor_t, std::size_t> anchors_ = {};
    bool is_started_ = false;
};

/// Every mapping and every list met counts, so that a cycle ends too.
Status merge_into(const YamlTree& tree,
                  const YamlNode& mapping,
                  YamlMembers& members,
                  std::size_t& left) {
    for (const auto& [key, number] : mapping.members)
        members.emplace(key, &tree.at(number));
    for (const auto number : mapping.merged) {
        const auto& node = tree.at(number);
        const auto sources =
            node.kind == YamlKind::List ? node.items : std::vector<std::size_t>{number};
        for (const auto source : sources) {
            if (left == 0)
                return Error{ErrorCode::Malformed, "merges more than 16 mappings"};
            --left;
            if (tree.at(source).kind != YamlKind::Mapping)
                return Error{ErrorCode::Malformed, "<<: not a mapping"};
            TRY(merge_into(tree, tree.at(source), members, left));
        }
    }
    return Done{};
}

Error malformed(const YAML::Mark& mark, const std::string& what) {
    const auto line = mark.is_null() ? "" : "line " + std::to_string(mark.line + 1) + ": ";
    return Error{ErrorCode::Malformed, line + scrubbed(what)};
}

}  // namespace

Result<YamlMembers> YamlTree::members_of(const YamlNode& mapping) const {
    if (mapping.kind != YamlKind::Mapping)
        return Error{ErrorCode::Malformed, "not a mapping"};
    YamlMembers members;
    auto left = kMaxYamlMerges;
    TRY(merge_into(*this, mapping, members, left));
    return members;
}

Result<YamlTree> parse_yaml(std::string_view text, Bytes limit) {
    if (text.size() > limit.count)
        return Error{ErrorCode::TooLarge, "over " + std::to_string(limit.count) + " bytes"};
    std::istringstream stream{std::string{text}};
    TreeBuilder builder;
    try {
        YAML::Parser parser{stream};
        while (parser.HandleNextDocument(builder))
            continue;
    } catch (const YAML::Exception& problem) {
        return malformed(problem.mark, problem.msg);
    } catch (const std::exception& problem) {
        return Error{ErrorCode::Malformed, "not YAML: " + scrubbed(problem.what())};
    }
    auto tree = builder.take();
    if (tree.nodes.empty())
        return Error{ErrorCode::Malformed, "empty"};
    return tree;
}

}  // namespace gpuprobe
