// SPDX-License-Identifier: Apache-2.0
#include "engine/recording.h"

#include "base/parse.h"

namespace gpuprobe {

Result<std::string> RecordingFiles::read(std::string_view path, Bytes limit) const {
    auto text = files_->read(path, limit);
    if (text)
        contents_.insert_or_assign(std::string{path}, *text);
    return text;
}

Result<std::vector<std::string>> RecordingFiles::list(std::string_view path) const {
    auto names = files_->list(path);
    if (!names)
        return names;
    seen_.insert(std::string{path});
    for (const auto& name : *names)
        seen_.insert(std::string{path} + "/" + name);
    return names;
}

Result<std::string> RecordingFiles::link_target(std::string_view path) const {
    auto target = files_->link_target(path);
    if (target)
        seen_.insert(std::string{path});
    return target;
}

Result<std::string> RecordingFiles::real_path(std::string_view path) const {
    auto resolved = files_->real_path(path);
    if (resolved)
        seen_.insert(std::string{path});
    return resolved;
}

Result<FileStatus> RecordingFiles::status(std::string_view path) const {
    auto found = files_->status(path);
    if (found)
        seen_.insert(std::string{path});
    return found;
}

std::optional<DeviceNode> RecordingNodes::find(std::string_view path) const {
    auto node = nodes_->find(path);
    if (node)
        found_.insert_or_assign(std::string{path}, *node);
    return node;
}

std::vector<std::string> RecordingNodes::list(std::string_view folder) const {
    auto paths = nodes_->list(folder);
    for (const auto& path : paths)
        (void)find(path);  // a list is replayed from its members
    return paths;
}

Value RecordingNodes::document() const {
    Value document{Value::Object{}};
    for (const auto& [path, node] : found_) {
        Value entry;
        const auto device = node.device.value_or("");
        const auto numbers = split(device, ':');
        const bool is_pair = numbers.size() == 2;
        entry["major"] = is_pair ? to_value(parse_number<unsigned>(numbers[0])) : Value{};
        entry["minor"] = is_pair ? to_value(parse_number<unsigned>(numbers[1])) : Value{};
        entry["mode"] = to_value(node.mode);
        entry["uid"] = to_value(node.uid);
        entry["gid"] = to_value(node.gid);
        entry["group"] = to_value(node.group);
        entry["acl"] = to_value(node.acl);
        entry["accessible"] = to_value(node.accessible);
        document[path] = std::move(entry);
    }
    return document;
}

}  // namespace gpuprobe
