// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/stat.h>

#include "base/files.h"
#include "base/text.h"

namespace gpuprobe::support {

/// The files of a machine, in memory. A folder exists if it contains a file or a link.
class MemoryFiles final : public FileSystem {
public:
    /// `path` is absolute. An existing file or link is replaced.
    void write(std::string_view path, std::string content) {
        nodes_.insert_or_assign(normal(path), Node{.content = std::move(content)});
    }
    void link(std::string_view path, std::string target) {
        nodes_.insert_or_assign(normal(path), Node{.content = std::move(target), .is_link = true});
    }

    [[nodiscard]] Result<std::string> read(std::string_view path, Bytes limit) const override {
        const auto found = nodes_.find(TRY(real_path(path)));
        if (found == nodes_.end())
            return Error{ErrorCode::Io, std::string{path} + ": a folder"};
        if (found->second.content.size() > limit.count)
            return Error{ErrorCode::TooLarge, std::string{path} + ": too large"};
        return found->second.content;
    }
    [[nodiscard]] Result<std::vector<std::string>> list(std::string_view path) const override {
        const auto folder = TRY(real_path(path));
        const auto start = folder == "/" ? folder : folder + "/";
        std::vector<std::string> names;
        for (auto node = nodes_.lower_bound(start);
             node != nodes_.end() && node->first.starts_with(start); ++node) {
            const auto rest = std::string_view{node->first}.substr(start.size());
            std::string name{rest.substr(0, rest.find('/'))};
            if (names.empty() || names.back() != name)
                names.push_back(std::move(name));
        }
        std::ranges::sort(names);
        names.erase(std::unique(names.begin(), names.end()), names.end());
        return names;
    }
    [[nodiscard]] Result<std::string> link_target(std::string_view path) const override {
        const auto found = nodes_.find(normal(path));
        if (found == nodes_.end() || !found->second.is_link)
            return Error{ErrorCode::NotFound, std::string{path} + ": no link"};
        return found->second.content;
    }
    [[nodiscard]] Result<std::string> real_path(std::string_view path) const override {
        auto real = normal(path);
        for (int links = 0; links < kMaxLinks; ++links) {
            const auto step = first_link(real);
            if (step.empty())
                return is_there(real) ? Result<std::string>{real}
                                      : Error{ErrorCode::NotFound, real + ": not there"};
            const auto& target = nodes_.find(step)->second.content;
            const auto base = target.starts_with('/') ? "" : step.substr(0, step.rfind('/')) + "/";
            real = normal(base + target + real.substr(step.size()));
        }
        return Error{ErrorCode::Io, std::string{path} + ": too many links"};
    }
    [[nodiscard]] Result<FileStatus> status(std::string_view path) const override {
        const auto found = nodes_.find(TRY(real_path(path)));
        if (found == nodes_.end())
            return FileStatus{.mode = S_IFDIR | 0755};
        return FileStatus{.mode = S_IFREG | 0444, .size = Bytes{found->second.content.size()}};
    }

private:
    struct Node {
        std::string content = {};  ///< the content of a file, or the target of a link
        bool is_link = false;
    };

    static std::string normal(std::string_view path) {
        std::vector<std::string_view> parts;
        for (const auto part : split(path, '/')) {
            if (part == ".." && !parts.empty())
                parts.pop_back();
            else if (!part.empty() && part != "." && part != "..")
                parts.push_back(part);
        }
        std::string text;
        for (const auto part : parts)
            text += "/" + std::string{part};
        return text.empty() ? "/" : text;
    }
    [[nodiscard]] bool is_there(const std::string& path) const {
        const auto found = nodes_.lower_bound(path);
        const auto below = path == "/" ? path : path + "/";
        const auto first = nodes_.lower_bound(below);
        return (found != nodes_.end() && found->first == path) ||
               (first != nodes_.end() && first->first.starts_with(below));
    }
    [[nodiscard]] std::string first_link(const std::string& path) const {
        for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
            const auto found = nodes_.find(path.substr(0, end));
            if (found != nodes_.end() && found->second.is_link)
                return found->first;
            if (end == std::string::npos)
                return "";
        }
    }

    std::map<std::string, Node> nodes_ = {};
};

}  // namespace gpuprobe::support
