// SPDX-License-Identifier: Apache-2.0
#include "engine/capture.h"

#include <filesystem>
#include <set>

#include <sys/stat.h>

#include "base/parse.h"
#include "base/value_json.h"
#include "engine/recording.h"
#include "engine/redaction.h"
#include "report/trials.h"

namespace gpuprobe {
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

    /// Makes the folders and links that lead to `path`. The result is where it really is, without
    /// "..": a capture that is captured again may not lead out of the new one. nullopt when a link
    /// leads nowhere.
    Result<std::optional<std::string>> lead_to(std::string path) {
        path = fs::path{path}.lexically_normal().string();
        for (int links = 0; links <= kMaxLinks; ++links) {
            const auto link = first_link(path);
            if (!link)
                return std::optional{path};
            (void)TRY(make_link(link->path, link->target));
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
        (void)TRY(make_folders(file.parent_path()));
        return write_atomically(file.string(), content);
    }

    /// Makes what is there but was not read: a folder, an empty file or a link.
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
        std::string target = {};  ///< as it is written
        std::string rest = {};    ///< what follows it, with its slash
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
        (void)TRY(make_folders(place.parent_path()));
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

/// "vulkan.nvidia_icd.json", "vulkan-verify.nvidia_icd.json", made unique by a number where two
/// manifests share a name or several devices a driver.
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

}  // namespace

Status write_capture(const std::string& folder,
                     const MachineSource& source,
                     const std::vector<ProbeResult>& probes,
                     WallTime now,
                     bool redact) {
    (void)TRY(check_folder(folder));
    Redaction redaction;
    const auto kept = [&](const std::string& text) {
        return redact ? redaction.masked(text) : text;
    };
    const auto kept_document = [&](const Value& document) {
        return redact ? redaction.masked_document(document) : document;
    };

    const RecordingFiles files{source.files};
    const RecordingNodes nodes{source.nodes};
    const auto host = source.host ? *source.host : detect_host(*source.files);
    (void)scan_machine(files, nodes, host);  // for what it reads
    TreeWriter tree{fs::path{folder} / "root", *source.files};
    for (const auto& [path, content] : files.contents())
        (void)TRY(tree.write(path, kept(content)));
    for (const auto& path : files.seen())
        (void)TRY(tree.touch(path));

    Value capture;
    capture["schema"] = 1;
    capture["recorded_usec"] = to_value(now);
    capture["host"] = to_value(host);
    (void)TRY(write_atomically(folder + "/capture.json", json_pretty(capture)));
    (void)TRY(write_atomically(folder + "/nodes.json", json_pretty(nodes.document())));
    (void)TRY(make_folders(folder + "/probes"));
    std::set<std::string> taken;
    for (const auto& probe : probes)
        (void)TRY(write_atomically(folder + "/probes/" + probe_file_name(probe, taken),
                                   json_pretty(kept_document(value_of(probe)))));
    return Done{};
}

}  // namespace gpuprobe
