// SPDX-License-Identifier: Apache-2.0
#include "engine/capture.h"

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

#include "base/files.h"
#include "base/text.h"
#include "base/value.h"
#include "engine/redaction.h"
#include "inventory/setup.h"
#include "inventory/virtualization.h"
#include "report/trials.h"

namespace gpuprobe::engine {
namespace {

namespace fs = std::filesystem;

Error file_error(const fs::path& path, const std::error_code& problem) {
    return errno_error(path.string(), problem.value());
}

Result<OpenFolder> made_folder(const fs::path& path) {
    return open_folder(path.string(), FolderTrust::Named, MissingFolder::Make);
}

/// The part of a file that the scan uses. Other parts of some files may contain personal data.
std::string scanned_part(const std::string& path, const std::string& text) {
    if (auto part = setup_part(path, text))
        return *std::move(part);
    return container_part(path, text).value_or(text);
}

/// Masks the content and the names of files, if there is a mask.
class Copying {
public:
    explicit Copying(Redaction* mask) : mask_{mask} {}

    [[nodiscard]] std::string content(const std::string& path, const std::string& text) const {
        return mask_ ? mask_->masked(scanned_part(path, text)) : text;
    }
    /// Masks a path or the target of a link. Administrators choose the names of files in
    /// modprobe.d, so these names are masked more strictly.
    [[nodiscard]] std::string name(const std::string& path) const {
        const bool is_of_people = path.find("/modprobe.d/") != std::string::npos;
        if (!mask_)
            return path;
        return mask_->masked(path, is_of_people ? TextKind::Fact : TextKind::Kernel);
    }

private:
    Redaction* mask_;
};

/// Writes the file tree of a capture. Symbolic links are written as links.
class TreeWriter {
public:
    TreeWriter(fs::path root, const FileSystem& files, Redaction* mask)
        : root_{std::move(root)}, files_{files}, copying_{mask} {}

    /// Creates the links that lead to `path`, and their folders. Returns the path with all links
    /// resolved and without "..", so that capturing a capture can't write outside the new folder.
    /// Returns nullopt after more than kMaxLinks links.
    Result<std::optional<std::string>> lead_to(std::string path) {
        path = fs::path{path}.lexically_normal().string();
        for (int links = 0; links <= kMaxLinks; ++links) {
            // Replace the first link in the path with its target, until no link is left.
            const auto link = first_link(path);
            if (!link)
                return std::optional{path};
            TRY(make_link(link->path, link->target));
            // append() replaces the whole path if the target is absolute.
            path =
                fs::path{link->path}.parent_path().append(link->target).lexically_normal().string();
            path += link->rest;
        }
        return std::optional<std::string>{};
    }

    /// Writes a file of the machine, unless the links in its path form a loop.
    Status write(const std::string& path, const std::string& content) {
        const auto real = TRY(lead_to(path));
        if (!real)
            return Done{};
        const auto file = place_of(*real);
        (void)TRY(made_folder(file.parent_path()));
        return write_atomically(file.string(), copying_.content(path, content));
    }

    /// Creates a path that exists but wasn't read: a folder, an empty file or a link.
    Status touch(const std::string& path) {
        const auto real = TRY(lead_to(path));
        const auto status =
            real ? files_.status(*real) : Result<FileStatus>{Error{ErrorCode::NotFound, ""}};
        if (!status)
            return Done{};
        const auto place = place_of(*real);
        if (S_ISDIR(status->mode)) {
            (void)TRY(made_folder(place));
            return Done{};
        }
        std::error_code ignored;
        if (fs::exists(place, ignored))
            return Done{};
        return write(*real, "");
    }

private:
    struct Link {
        std::string path = {};    ///< path of the link itself
        std::string target = {};  ///< the stored target, relative or absolute
        std::string rest = {};    ///< the path after the link, with a leading slash
    };

    /// The path inside the capture for a path of the machine.
    [[nodiscard]] fs::path place_of(const std::string& path) const {
        return root_ / fs::path{copying_.name(path)}.relative_path();
    }

    /// The first component of the path that is a symbolic link.
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

    /// Creates a link, unless the link already exists because another path used it.
    Status make_link(const std::string& path, const std::string& target) {
        const auto place = place_of(path);
        const auto folder = TRY(made_folder(place.parent_path()));
        const auto link = fs::path{folder.path} / place.filename();
        std::error_code problem;
        if (fs::is_symlink(link, problem))
            return Done{};
        fs::create_symlink(copying_.name(target), link, problem);
        if (problem)
            return file_error(place, problem);
        return Done{};
    }

    fs::path root_;
    const FileSystem& files_;
    Copying copying_;
};

/// Creates the folder, or checks that the existing folder is empty.
Status check_folder(const std::string& folder) {
    std::error_code problem;
    if (fs::exists(folder, problem) && !fs::is_empty(folder, problem))
        return Error{ErrorCode::InvalidRequest, folder + ": not empty"};
    (void)TRY(made_folder(folder));
    return Done{};
}

/// A file name that isn't in `taken`, such as "vulkan.nvidia_icd.json" or
/// "vulkan-verify.nvidia_icd.json". The name contains a number if two manifests have the same name
/// or if one driver has several devices.
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

/// Copies the files that a scan reads and the nodes that it examines. Runs a scan to find these
/// files and nodes.
Status write_machine(const std::string& folder,
                     const MachineSource& source,
                     const Host& host,
                     Redaction* mask) {
    const RecordingFiles files{source.files};
    const RecordingNodes nodes{source.nodes};
    (void)scan_machine(files, nodes, host);
    TreeWriter tree{fs::path{folder} / "root", *source.files, mask};
    for (const auto& [path, content] : files.contents())
        TRY(tree.write(path, content));
    for (const auto& path : files.seen())
        TRY(tree.touch(path));
    auto document = nodes.document();
    if (mask)
        document = mask->masked_nodes(std::move(document));
    return write_atomically(folder + "/nodes.json", json_pretty(document));
}

/// Writes one file per probe result. The file names are also masked, because they contain the names
/// of drivers' manifests.
Status write_probes(const std::string& folder,
                    const std::vector<ProbeResult>& probes,
                    const DriverVariables& variables,
                    Redaction* mask) {
    (void)TRY(made_folder(folder));
    std::set<std::string> taken;
    for (const auto& probe : probes) {
        auto document = value_of(probe);
        // A replay runs with other environment variables than the captured machine.
        if (const auto named = variables.find(probe.driver); named != variables.end())
            document["variable"] = named->second;
        auto name = probe_file_name(probe, taken);
        if (mask) {
            document = mask->masked_probe(std::move(document));
            name = mask->masked(name, TextKind::Version);
        }
        TRY(write_atomically(folder + "/" + name, json_pretty(document)));
    }
    return Done{};
}

}  // namespace

Result<std::string> RecordingFiles::read(std::string_view path, Bytes limit) const {
    auto text = files_->read(path, limit);
    if (text)
        contents_.insert_or_assign(std::string{path}, *text);
    return text;
}

/// The entries of a listed folder are also recorded, because a replay of the scan has to list the
/// same names.
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
        (void)find(path);  // record each node, because a replay lists only recorded nodes
    return paths;
}

/// A node's device number is "major:minor"; both are null for a node without a device number.
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

Status write_capture(const std::string& folder,
                     const MachineSource& source,
                     const std::vector<ProbeResult>& probes,
                     const DriverVariables& variables,
                     WallTime now,
                     Redaction* mask) {
    TRY(check_folder(folder));
    // If `source` is a capture, keep its host instead of the host on which this program runs.
    const auto host = source.host ? *source.host : detect_host(*source.files);
    TRY(write_machine(folder, source, host, mask));
    Value capture;
    capture["schema"] = 1;
    capture["recorded_usec"] = to_value(now);
    capture["host"] = mask ? mask->masked_document(to_value(host)) : to_value(host);
    TRY(write_atomically(folder + "/capture.json", json_pretty(capture)));
    return write_probes(folder + "/probes", probes, variables, mask);
}

}  // namespace gpuprobe::engine
