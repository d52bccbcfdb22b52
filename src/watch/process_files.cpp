// SPDX-License-Identifier: Apache-2.0
#include "watch/process_files.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/parse.h"

namespace gpuprobe::watch {
namespace {

const std::string kProc = "/proc/";
const std::string kKfd = "/sys/class/kfd/kfd/";
constexpr Bytes kMaxInfo = kib(64);
constexpr Bytes kMaxMaps = mib(32);
constexpr std::size_t kMaxDrmFiles = 1024;
constexpr std::size_t kMaxGpus = 256;
constexpr std::size_t kMaxName = 256;

/// How the nodes of GPUs and accelerators begin. Which device a node is, the report knows.
constexpr std::array<std::string_view, 8> kNodes = {
    "/dev/nvidia", "/dev/dri/", "/dev/kfd",    "/dev/accel",
    "/dev/dxg",    "/dev/mali", "/dev/nvhost", "/dev/hailo",
};

bool is_node(std::string_view path) {
    return std::ranges::any_of(kNodes, [path](auto start) { return path.starts_with(start); });
}

/// Where the path in a line of /proc/PID/maps begins is behind five words. Source:
/// proc_pid_maps(5).
std::string_view path_in(std::string_view line) {
    const auto slash = line.find('/');
    return slash == std::string_view::npos ? std::string_view{} : line.substr(slash);
}

void read_info(const FileSystem& files, const std::string& path, ProcessFiles& found) {
    if (found.drm.size() == kMaxDrmFiles)
        return;
    const auto text = files.read(path, kMaxInfo);
    auto client = text ? drm_client_from(*text) : std::nullopt;
    if (!client)
        return;
    const bool is_known = client->id && std::ranges::any_of(found.drm, [&](const DrmClient& other) {
                              return other.id == client->id && other.pci == client->pci;
                          });
    if (!is_known)
        found.drm.push_back(*std::move(client));
}

}  // namespace

std::vector<std::string> mapped_by(const FileSystem& files, pid_t pid) {
    const auto maps = files.read(kProc + std::to_string(pid) + "/maps", kMaxMaps);
    if (!maps)
        return {};
    std::set<std::string, std::less<>> names;
    std::string_view last;
    for (const auto line : split(std::string_view{*maps}, '\n')) {
        const auto path = path_in(line);
        if (path.empty() || path == last)
            continue;
        last = path;
        const auto name = is_node(path) ? path : path.substr(path.rfind('/') + 1);
        names.insert(scrubbed(name, kMaxName));
    }
    return {names.begin(), names.end()};
}

ProcessFiles files_of(const FileSystem& files, pid_t pid) {
    ProcessFiles found;
    const auto folder = kProc + std::to_string(pid);
    const auto descriptors = files.list(folder + "/fd");
    if (!descriptors) {
        found.is_gone = descriptors.error().code == ErrorCode::NotFound;
        return found;
    }
    found.is_open_known = true;
    std::set<std::string> nodes;
    for (const auto& number : *descriptors) {
        const auto target = files.link_target(folder + "/fd/" + number);
        if (!target || !is_node(*target))
            continue;
        nodes.insert(scrubbed(*target, kMaxName));
        if (target->starts_with("/dev/dri/") || target->starts_with("/dev/accel"))
            read_info(files, folder + "/fdinfo/" + number, found);
    }
    found.nodes.assign(nodes.begin(), nodes.end());
    if (!nodes.empty())
        found.mapped = mapped_by(files, pid);
    return found;
}

std::optional<std::map<std::string, Bytes>> kfd_memory(const FileSystem& files, pid_t pid) {
    constexpr std::string_view kVram = "vram_";
    const auto folder = kKfd + "proc/" + std::to_string(pid);
    const auto names = files.list(folder);
    if (!names)
        return std::nullopt;
    std::map<std::string, Bytes> memory;
    for (const auto& name : *names) {
        if (!name.starts_with(kVram) || memory.size() == kMaxGpus)
            continue;
        const auto line = files.line(folder + "/" + name);
        if (const auto bytes = line ? parse_number<std::uint64_t>(*line) : std::nullopt)
            memory[name.substr(kVram.size())] = Bytes{*bytes};
    }
    return memory;
}

std::map<std::string, std::uint32_t> kfd_node_numbers(const FileSystem& files) {
    std::map<std::string, std::uint32_t> numbers;
    const auto nodes = files.list(kKfd + "topology/nodes");
    for (const auto& name : nodes ? *nodes : std::vector<std::string>{}) {
        const auto number = parse_number<std::uint32_t>(name);
        const auto id = files.line(kKfd + "topology/nodes/" + name + "/gpu_id");
        if (number && id && *id != "0" && numbers.size() < kMaxGpus)
            numbers[*id] = *number;
    }
    return numbers;
}

}  // namespace gpuprobe::watch
