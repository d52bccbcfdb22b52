// SPDX-License-Identifier: Apache-2.0
#include "engine/capture.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include <sys/stat.h>

#include "base/parse.h"
#include "base/value_json.h"
#include "report/trials.h"

namespace gpuprobe::engine {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxLinks = 40;  // as the kernel: path_resolution(7)

Error file_error(const fs::path& path, const std::error_code& problem) {
    return errno_error(path.string(), problem.value());
}

Status make_folders(const fs::path& path) {
    std::error_code problem;
    fs::create_directories(path, problem);
    if (problem)
        return file_error(path, problem);
    return Done{};
}

/// Writes the tree of a capture, links as links.
class TreeWriter {
public:
    TreeWriter(fs::path root, const FileSystem& files) : root_{std::move(root)}, files_{files} {}

    /// Makes the folders and links that lead to `path`. Returns the path with all links resolved
    /// and without "..", so that capturing a capture can't write outside the new folder. nullopt
    /// when a link is broken.
    Result<std::optional<std::string>> lead_to(std::string path) {
        path = fs::path{path}.lexically_normal().string();
        for (int links = 0; links <= kMaxLinks; ++links) {
            const auto link = first_link(path);
            if (!link)
                return std::optional{path};
            TRY(make_link(link->path, link->target));
            path =
                fs::path{link->path}.parent_path().append(link->target).lexically_normal().string();
            path += link->rest;
        }
        return std::optional<std::string>{};
    }

    Status write(const std::string& path, const std::string& content) {
        const auto real = TRY(lead_to(path));
        if (!real)
            return Done{};
        const auto file = root_ / fs::path{*real}.relative_path();
        TRY(make_folders(file.parent_path()));
        return write_atomically(file.string(), content);
    }

    /// Makes what exists but was not read: a folder, an empty file or a link.
    Status touch(const std::string& path) {
        const auto real = TRY(lead_to(path));
        const auto status =
            real ? files_.status(*real) : Result<FileStatus>{Error{ErrorCode::NotFound, ""}};
        if (!status)
            return Done{};
        const auto place = root_ / fs::path{*real}.relative_path();
        if (S_ISDIR(status->mode))
            return make_folders(place);
        std::error_code ignored;
        if (fs::exists(place, ignored))
            return Done{};
        return write(*real, "");
    }

private:
    struct Link {
        std::string path = {};    ///< of the link itself
        std::string target = {};  ///< as the link stores it
        std::string rest = {};    ///< the path after the link, with its slash
    };

    [[nodiscard]] std::optional<Link> first_link(const std::string& path) const {
        for (auto end = path.find('/', 1);; end = path.find('/', end + 1)) {
            const auto part = path.substr(0, end);
            if (auto target = files_.link_target(part))
                return Link{.path = part,
                            .target = *target,
                            .rest = end == std::string::npos ? "" : path.substr(end)};
            if (end == std::string::npos)
                return std::nullopt;
        }
    }

    Status make_link(const std::string& path, const std::string& target) {
        const auto place = root_ / fs::path{path}.relative_path();
        TRY(make_folders(place.parent_path()));
        std::error_code problem;
        if (fs::is_symlink(place, problem))
            return Done{};
        fs::create_symlink(target, place, problem);
        if (problem)
            return file_error(place, problem);
        return Done{};
    }

    fs::path root_;
    const FileSystem& files_;
};

Status check_folder(const std::string& folder) {
    std::error_code problem;
    if (fs::exists(folder, problem) && !fs::is_empty(folder, problem))
        return Error{ErrorCode::InvalidRequest, folder + ": holds something already"};
    return make_folders(folder);
}

/// "vulkan.nvidia_icd.json", "vulkan-verify.nvidia_icd.json"; with a number when two manifests have
/// the same name or one driver has several devices.
std::string probe_file_name(const ProbeResult& probe, std::set<std::string>& taken) {
    auto stem = probe.api;
    if (probe.stage != kQueryStage)
        stem += "-" + probe.stage;
    if (!probe.driver.empty())
        stem += "." + fs::path{probe.driver}.stem().string();
    auto name = stem + ".json";
    for (int number = 2; !taken.insert(name).second; ++number)
        name = stem + "-" + std::to_string(number) + ".json";
    return name;
}

/// Copies the files that the scan reads, and the nodes it looks at.
Status write_machine(const std::string& folder,
                     const MachineSource& source,
                     const Host& host,
                     Redaction* mask) {
    const RecordingFiles files{source.files};
    const RecordingNodes nodes{source.nodes};
    (void)scan_machine(files, nodes, host);
    TreeWriter tree{fs::path{folder} / "root", *source.files};
    for (const auto& [path, content] : files.contents())
        TRY(tree.write(path, mask ? mask->masked(content) : content));
    for (const auto& path : files.seen())
        TRY(tree.touch(path));
    return write_atomically(folder + "/nodes.json", json_pretty(nodes.document()));
}

Status write_probes(const std::string& folder,
                    const std::vector<ProbeResult>& probes,
                    Redaction* mask) {
    TRY(make_folders(folder));
    std::set<std::string> taken;
    for (const auto& probe : probes) {
        auto document = value_of(probe);
        if (mask)
            document = mask->masked_document(std::move(document));
        TRY(write_atomically(folder + "/" + probe_file_name(probe, taken), json_pretty(document)));
    }
    return Done{};
}

constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kUniqueIdLength = 16;

bool is_digit(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool is_dash_place(std::size_t place) {
    return place == 8 || place == 13 || place == 18 || place == 23;
}

bool is_uuid(std::string_view text) {
    if (text.size() < kUuidLength)
        return false;
    for (std::size_t i = 0; i < kUuidLength; ++i)
        if (is_dash_place(i) ? text[i] != '-' : !is_digit(text[i]))
            return false;
    return text.size() == kUuidLength || !is_digit(text[kUuidLength]);
}

/// Sixteen hexadecimal digits that are not part of a longer word: the serial number of a card as
/// amdgpu and ROCm write it. The addresses of a PCI `resource` line are as long, but follow "0x".
bool is_unique_id(std::string_view text, char before) {
    if (text.size() < kUniqueIdLength || is_digit(before) || before == 'x')
        return false;
    const auto word = text.substr(0, kUniqueIdLength);
    return std::ranges::all_of(word, is_digit) &&
           (text.size() == kUniqueIdLength || !is_digit(text[kUniqueIdLength]));
}

/// The digits at the start of `text` when "unique_id " stands before it, else "". KFD's properties
/// write the serial number of a card in decimal (drivers/gpu/drm/amd/amdkfd/kfd_topology.c).
std::string_view decimal_unique_id(std::string_view before, std::string_view text) {
    if (!before.ends_with("unique_id "))
        return {};
    return text.substr(0, text.find_first_not_of("0123456789"));
}

/// The same serial number as amdgpu writes it.
std::string unique_id_of(std::uint64_t number) {
    std::string digits(kUniqueIdLength, '0');
    for (auto digit = digits.rbegin(); number != 0; ++digit, number >>= 4)
        *digit = "0123456789abcdef"[number & 0xF];
    return digits;
}

std::string padded(unsigned number, std::size_t length) {
    auto digits = std::to_string(number);
    return std::string(length - digits.size(), '0') + digits;
}

}  // namespace

Result<std::string> RecordingFiles::read(std::string_view path, Bytes limit) const {
    auto text = files_->read(path, limit);
    if (text)
        contents_.insert_or_assign(std::string{path}, *text);
    return text;
}

Result<std::vector<std::string>> RecordingFiles::list(std::string_view path) const {
    auto names = noted(path, files_->list(path));
    if (!names)
        return names;
    for (const auto& name : *names)
        seen_.insert(std::string{path} + "/" + name);
    return names;
}

template <class Found>
Found RecordingFiles::noted(std::string_view path, Found found) const {
    if (found)
        seen_.insert(std::string{path});
    return found;
}

Result<std::string> RecordingFiles::link_target(std::string_view path) const {
    return noted(path, files_->link_target(path));
}

Result<std::string> RecordingFiles::real_path(std::string_view path) const {
    return noted(path, files_->real_path(path));
}

Result<FileStatus> RecordingFiles::status(std::string_view path) const {
    return noted(path, files_->status(path));
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
        (void)find(path);  // a replay lists the nodes that are recorded one by one
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

unsigned Redaction::number_of(std::string_view identifier) {
    const auto next = static_cast<unsigned>(known_.size()) + 1;
    return known_.try_emplace(lower_case(identifier), next).first->second;
}

std::string Redaction::stand_in(std::string_view unique_id) {
    return "a" + padded(number_of(unique_id), kUniqueIdLength - 1);
}

std::string Redaction::masked(std::string_view text) {
    std::string clean;
    for (std::size_t at = 0; at < text.size();) {
        const auto rest = text.substr(at);
        const char before = at == 0 ? ' ' : text[at - 1];
        const auto decimal = decimal_unique_id(text.substr(0, at), rest);
        const auto serial = parse_number<std::uint64_t>(decimal);
        if (serial && *serial != 0) {
            clean += std::to_string(*parse_hex<std::uint64_t>(stand_in(unique_id_of(*serial))));
            at += decimal.size();
        } else if (!is_digit(before) && is_uuid(rest)) {
            clean +=
                "00000000-0000-4000-8000-" + padded(number_of(rest.substr(0, kUuidLength)), 12);
            at += kUuidLength;
        } else if (is_unique_id(rest, before)) {
            clean += stand_in(rest.substr(0, kUniqueIdLength));
            at += kUniqueIdLength;
        } else {
            clean += text[at++];
        }
    }
    return clean;
}

Value Redaction::masked_document(Value document) {
    if (const auto* text = document.as_string())
        return masked(*text);
    if (auto* items = document.as_array())
        for (auto& item : *items)
            item = masked_document(std::move(item));
    if (auto* members = document.as_object())
        for (auto& member : *members)
            member.value = masked_document(std::move(member.value));
    return document;
}

Status write_capture(const std::string& folder,
                     const MachineSource& source,
                     const std::vector<ProbeResult>& probes,
                     WallTime now,
                     bool redact) {
    TRY(check_folder(folder));
    Redaction redaction;
    auto* const mask = redact ? &redaction : nullptr;
    const auto host = source.host ? *source.host : detect_host(*source.files);
    TRY(write_machine(folder, source, host, mask));
    Value capture;
    capture["schema"] = 1;
    capture["recorded_usec"] = to_value(now);
    capture["host"] = to_value(host);
    TRY(write_atomically(folder + "/capture.json", json_pretty(capture)));
    return write_probes(folder + "/probes", probes, mask);
}

}  // namespace gpuprobe::engine
