// SPDX-License-Identifier: Apache-2.0
#include "base/value_json.h"
#include "inventory/scan.h"

namespace gpuprobe::inline inventory {
namespace {

constexpr Bytes kMaxDocument = mib(1);
constexpr std::size_t kMaxNodes = 4096;

/// One entry of nodes.json.
struct NodeRecord {
    std::optional<std::uint32_t> major = {};
    std::optional<std::uint32_t> minor = {};
    std::optional<std::uint32_t> mode = {};
    std::optional<std::uint32_t> uid = {};
    std::optional<std::uint32_t> gid = {};
    std::vector<AclEntry> acl = {};
    Value group = {};  ///< a name, or a number where it had no name
    std::optional<bool> accessible = {};
    std::optional<std::string> reason = {};
};
RECORD_MEMBERS(NodeRecord, major, minor, mode, uid, gid, acl, group, accessible, reason)

std::optional<std::string> group_from(const Value& group) {
    if (const auto* name = group.as_string())
        return *name;
    const auto number = group.as_unsigned();
    return number ? std::optional{std::to_string(*number)} : std::nullopt;
}

DeviceNode node_from(const std::string& path, const NodeRecord& record) {
    DeviceNode node{.path = path,
                    .uid = record.uid,
                    .gid = record.gid,
                    .group = group_from(record.group),
                    .acl = record.acl,
                    .accessible = record.accessible,
                    .reason = record.reason};
    if (record.mode)
        node.mode = *record.mode & 07777U;
    if (record.major && record.minor)
        node.device = std::to_string(*record.major) + ":" + std::to_string(*record.minor);
    if (record.accessible == false && !node.reason)
        node.reason = "no-permission";
    return node;
}

}  // namespace

Result<RecordedNodes> RecordedNodes::parse(std::string_view json) {
    const auto document = TRY(parse_json(json, kMaxDocument));
    const auto* members = document.as_object();
    if (!members)
        return Error{ErrorCode::Malformed, wrong_type(document, "object")};
    if (members->size() > kMaxNodes)
        return Error{ErrorCode::TooLarge, "more than " + std::to_string(kMaxNodes) + " nodes"};
    RecordedNodes recorded;
    for (const auto& [path, value] : *members) {
        if (!path.starts_with("/dev/"))
            return Error{ErrorCode::Malformed, path + ": not below /dev"};
        auto record = record_from<NodeRecord>(value);
        if (!record)
            return std::move(record).error().in(path);
        recorded.nodes_.emplace(path, node_from(path, *record));
    }
    return recorded;
}

std::optional<DeviceNode> RecordedNodes::find(std::string_view path) const {
    const auto found = nodes_.find(path);
    return found == nodes_.end() ? std::nullopt : std::optional{found->second};
}

std::vector<std::string> RecordedNodes::list(std::string_view folder) const {
    std::vector<std::string> found;
    const auto prefix = std::string{folder} + "/";
    for (const auto& [path, node] : nodes_)
        if (path.starts_with(prefix) && path.find('/', prefix.size()) == std::string::npos)
            found.push_back(path);
    return found;
}

}  // namespace gpuprobe::inline inventory
