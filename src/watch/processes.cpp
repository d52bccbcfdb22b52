// SPDX-License-Identifier: Apache-2.0
#include "watch/processes.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include <unistd.h>

#include "base/record.h"
#include "base/text.h"

namespace gpuprobe::watch {
namespace {

// Limits for the text of one fdinfo file, which an unknown driver writes.
constexpr std::size_t kMaxWord = 64;
constexpr std::size_t kMaxRegions = 64;

/// The figures of one memory region, in bytes. `resident` is the memory in the region now;
/// "drm-memory-" is an older name of its key. `total` also counts buffers that are swapped out.
struct Region {
    std::optional<std::uint64_t> resident = {};
    std::optional<std::uint64_t> memory = {};
    std::optional<std::uint64_t> total = {};

    /// The best known figure: the resident memory, or else the same figure under its older name, or
    /// else the total.
    [[nodiscard]] std::optional<std::uint64_t> bytes() const {
        if (resident)
            return resident;
        return memory ? memory : total;
    }
};
using Regions = std::map<std::string, Region, std::less<>>;

/// Parses "123 KiB" or "123 MiB"; a number without a unit is in bytes. nullopt if the unit is
/// unknown or the result overflows.
std::optional<std::uint64_t> bytes_from(std::string_view text) {
    const auto parts = words(text);
    if (parts.empty() || parts.size() > 2)
        return std::nullopt;
    const auto number = parse_number<std::uint64_t>(parts[0]);
    if (!number)
        return std::nullopt;
    if (parts.size() == 1)
        return number;
    const bool is_kib = parts[1] == "KiB";
    if (!is_kib && parts[1] != "MiB")
        return std::nullopt;
    const std::uint64_t unit = is_kib ? kib(1).count : mib(1).count;
    if (*number > std::numeric_limits<std::uint64_t>::max() / unit)
        return std::nullopt;
    return *number * unit;
}

/// A key prefix of fdinfo, and the member that holds its value.
struct Figure {
    std::string_view prefix;
    std::optional<std::uint64_t> Region::*place;
};
constexpr std::array<Figure, 3> kFigures = {{{"drm-resident-", &Region::resident},
                                             {"drm-memory-", &Region::memory},
                                             {"drm-total-", &Region::total}}};

/// Stores the value of a memory key; ignores all other keys.
void add_figure(std::string_view key, std::string_view value, Regions& regions) {
    // "drm-total-cycles-<engine>" is a clock, not memory.
    if (key.starts_with("drm-total-cycles-"))
        return;
    for (const auto& figure : kFigures) {
        if (!key.starts_with(figure.prefix))
            continue;
        const auto name = key.substr(figure.prefix.size(), kMaxWord);
        if (regions.size() < kMaxRegions || regions.contains(name))
            regions[std::string{name}].*figure.place = bytes_from(value);
    }
}

/// Notes whether an engine has run: drm-engine-NAME is its time in ns, drm-cycles-NAME its cycles.
/// A value of zero shows that the driver reports such times; without any such key, `has_worked`
/// stays null.
void add_work(std::string_view key, std::string_view value, std::optional<bool>& has_worked) {
    const bool is_time = key.starts_with("drm-engine-") && !key.starts_with("drm-engine-capacity-");
    if (!is_time && !key.starts_with("drm-cycles-"))
        return;
    const auto parts = words(value);
    const auto spent = parts.empty() ? std::nullopt : parse_number<std::uint64_t>(parts[0]);
    if (spent)
        has_worked = has_worked.value_or(false) || *spent > 0;
}

/// Whether the region is memory on the card: "vram" (amdgpu), "vram0" (xe), "local0" and
/// "stolen-local0" (i915).
bool is_on_device(std::string_view region) {
    return region.starts_with("vram") || region.find("local") != std::string_view::npos;
}

/// Adds two sizes without overflow.
void add(std::optional<Bytes>& sum, std::uint64_t bytes) {
    const auto before = sum.value_or(Bytes{}).count;
    const auto room = std::numeric_limits<std::uint64_t>::max() - before;
    sum = Bytes{before + std::min(bytes, room)};
}

void add_regions(const Regions& regions, DrmClient& client) {
    for (const auto& [name, region] : regions)
        // In amdgpu, "cpu" is memory that is temporarily evicted from the GPU.
        if (const auto bytes = region.bytes(); bytes && name != "cpu")
            add(is_on_device(name) ? client.on_device : client.in_host, *bytes);
}

constexpr const char* kProc = "/proc/";
// Limits for one process. The maps of a large program have tens of thousands of lines.
constexpr Bytes kMaxInfo = kib(64);
constexpr Bytes kMaxMaps = mib(32);
constexpr std::size_t kMaxDrmFiles = 1024;
constexpr std::size_t kMaxGpus = 256;
constexpr std::size_t kMaxName = 256;

/// Path prefixes of the nodes of GPUs and accelerators. The report maps a node to its device.
constexpr std::array<std::string_view, 8> kNodes = {
    "/dev/nvidia", "/dev/dri/", "/dev/kfd",    "/dev/accel",
    "/dev/dxg",    "/dev/mali", "/dev/nvhost", "/dev/hailo",
};

bool is_node(std::string_view path) {
    return std::ranges::any_of(kNodes, [path](auto start) { return path.starts_with(start); });
}

/// The path in a line of /proc/PID/maps; "" for anonymous memory. The five columns before the path
/// have no slash. Source: proc_pid_maps(5).
std::string_view path_in(std::string_view line) {
    const auto slash = line.find('/');
    return slash == std::string_view::npos ? std::string_view{} : line.substr(slash);
}

/// Reads one fdinfo file and adds its client, unless another descriptor of the same open file (for
/// instance from dup()) was added already.
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

std::optional<DrmClient> drm_client_from(std::string_view fdinfo) {
    DrmClient client;
    Regions regions;
    for (const auto line : split(fdinfo, '\n')) {
        const auto colon = line.find(':');
        if (!line.starts_with("drm-") || colon == std::string_view::npos)
            continue;
        const auto key = line.substr(0, colon);
        const auto value = trimmed(line.substr(colon + 1));
        if (key == "drm-driver")
            client.driver = scrubbed(value, kMaxWord);
        else if (key == "drm-pdev")
            client.pci = parse_text(value, std::type_identity<PciAddress>{});
        else if (key == "drm-client-id")
            client.id = parse_number<std::uint64_t>(value);
        // Call both functions: each ignores the keys that the other function reads.
        add_figure(key, value, regions);
        add_work(key, value, client.has_worked);
    }
    if (client.driver.empty())
        return std::nullopt;
    add_regions(regions, client);
    return client;
}

std::vector<std::string> mapped_by(const FileSystem& files,
                                   pid_t pid,
                                   std::size_t* control_mappings) {
    const auto maps = files.read(kProc + std::to_string(pid) + "/maps", kMaxMaps);
    if (!maps)
        return {};
    std::set<std::string, std::less<>> names;
    // The mappings of a file follow each other, so compare with the previous path before searching
    // the set.
    std::string_view last;
    for (const auto line : split(std::string_view{*maps}, '\n')) {
        const auto path = path_in(line);
        if (control_mappings && path == "/dev/nvidiactl")
            ++*control_mappings;
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
    // "Not found" means that the process has ended; any other error means that the process can't be
    // read.
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
        // Only DRM drivers write memory and engine times into fdinfo.
        if (target->starts_with("/dev/dri/") || target->starts_with("/dev/accel"))
            read_info(files, folder + "/fdinfo/" + number, found);
    }
    found.nodes.assign(nodes.begin(), nodes.end());
    if (!nodes.empty())
        found.mapped = mapped_by(files, pid, &found.control_mappings);
    return found;
}

std::optional<std::map<std::string, Bytes>> kfd_memory(const FileSystem& files, pid_t pid) {
    constexpr std::string_view kVram = "vram_";
    const auto folder = "/sys/class/kfd/kfd/proc/" + std::to_string(pid);
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
    const auto nodes = files.list("/sys/class/kfd/kfd/topology/nodes");
    for (const auto& name : nodes ? *nodes : std::vector<std::string>{}) {
        const auto number = parse_number<std::uint32_t>(name);
        const auto id = files.line("/sys/class/kfd/kfd/topology/nodes/" + name + "/gpu_id");
        // The id 0 means that the node is a processor and not a GPU.
        if (number && id && *id != "0" && numbers.size() < kMaxGpus)
            numbers[*id] = *number;
    }
    return numbers;
}

namespace {

constexpr Bytes kMaxStat = kib(4);
constexpr Bytes kMaxEnvironment = mib(4);
constexpr int kLooksAtOthers = 3;  // after this many searches, ignore a process outside the tree
// Indexes of the words after the name in /proc/PID/stat.
constexpr std::size_t kState = 0;
constexpr std::size_t kParent = 1;
constexpr std::size_t kStarted = 19;

}  // namespace

std::optional<Process> process_from(std::string_view stat) {
    // The name is in parentheses and may contain any character, so search for the last parenthesis.
    const auto name = stat.rfind(')');
    const auto pid = parse_number<pid_t>(stat.substr(0, stat.find(' ')));
    if (name == std::string_view::npos || !pid || *pid <= 0)
        return std::nullopt;
    const auto rest = words(stat.substr(name + 1));
    if (rest.size() <= kStarted)
        return std::nullopt;
    const auto parent = parse_number<pid_t>(rest[kParent]);
    const auto started = parse_number<std::uint64_t>(rest[kStarted]);
    if (!parent || *parent < 0 || !started || rest[kState].size() != 1)
        return std::nullopt;
    return Process{
        .pid = *pid, .parent = *parent, .state = rest[kState].front(), .started = *started};
}

std::optional<WallTime> start_of(const FileSystem& files, pid_t pid, WallTime now) {
    const auto stat = files.read(kProc + std::to_string(pid) + "/stat", kMaxStat);
    const auto process = stat ? process_from(*stat) : std::nullopt;
    // The file contains "12345.67 8910.11": the seconds since the system started, and the seconds
    // for which the processors were idle.
    auto uptime = files.line("/proc/uptime").value_or("");
    uptime.resize(std::min(uptime.find(' '), uptime.size()));
    std::erase(uptime, '.');
    const auto hundredths = parse_number<std::int64_t>(uptime);
    const auto ticks = ::sysconf(_SC_CLK_TCK);
    if (!process || !hundredths || ticks <= 0)
        return std::nullopt;
    const std::chrono::milliseconds up{*hundredths * 10};
    const std::chrono::milliseconds began{process->started * 1000 /
                                          static_cast<std::uint64_t>(ticks)};
    return now - (up - began);
}

ProcessTree::ProcessTree(const FileSystem& files, pid_t root, std::string mark)
    : files_{files}, root_{root}, mark_{std::move(mark)} {}

std::optional<Process> ProcessTree::read(pid_t pid) const {
    const auto stat = files_.read(kProc + std::to_string(pid) + "/stat", kMaxStat);
    const auto process = stat ? process_from(*stat) : std::nullopt;
    return process && process->pid == pid ? process : std::nullopt;
}

/// Whether the process has the mark in its environment. Before exec(), a new process still has its
/// parent's environment.
bool ProcessTree::is_marked(pid_t pid) const {
    if (mark_.empty())
        return false;
    const auto text = files_.read(kProc + std::to_string(pid) + "/environ", kMaxEnvironment);
    if (!text)
        return false;
    const auto variables = split(std::string_view{*text}, '\0');
    return std::ranges::find(variables, mark_) != variables.end();
}

/// Also compares the start time, because the number of the process may have been reused.
bool ProcessTree::is_root(const Process& process) {
    if (process.pid != root_)
        return false;
    if (!root_started_)
        root_started_ = process.started;
    return *root_started_ == process.started;
}

/// Moves descendants of the watched processes from `strangers` to `ours_`. Repeats this until
/// nothing changes: process numbers wrap around, so a child may be listed before its parent.
void ProcessTree::adopt(std::map<pid_t, Process>& strangers) {
    for (bool has_grown = true; has_grown;)
        has_grown = std::erase_if(strangers, [this](const auto& stranger) {
                        const auto& process = stranger.second;
                        const bool is_ours = is_root(process) || ours_.contains(process.parent);
                        if (is_ours)
                            ours_.insert(stranger);
                        return is_ours;
                    }) > 0;
}

std::vector<Process> ProcessTree::look() {
    // Sort all processes into three groups: known members of the tree that still run, strangers
    // that were examined often enough, and strangers that may still turn out to be ours.
    const auto names = files_.list("/proc");
    is_whole_ = static_cast<bool>(names);
    std::map<pid_t, Process> here;
    std::map<pid_t, Process> strangers;
    std::map<pid_t, Other> settled;
    for (const auto& name : names ? *names : std::vector<std::string>{std::to_string(root_)}) {
        const auto pid = parse_number<pid_t>(name);
        if (!pid)
            continue;
        const auto other = others_.find(*pid);
        if (other != others_.end() && other->second.looks >= kLooksAtOthers) {
            settled.insert(*other);
            continue;
        }
        const auto process = read(*pid);
        if (!process)
            continue;
        const auto known = ours_.find(*pid);
        const bool is_ours = known != ours_.end() && known->second.started == process->started;
        (is_ours ? here : strangers).emplace(*pid, *process);
    }
    // First find our processes by their parents, then by the mark. After that, a second pass finds
    // the children of the processes with the mark.
    const auto before = std::exchange(others_, std::move(settled));
    ours_ = std::move(here);
    adopt(strangers);
    std::erase_if(strangers, [this](const auto& stranger) {
        return is_marked(stranger.first) && ours_.insert(stranger).second;
    });
    adopt(strangers);
    // The remaining processes are strangers: count how often each was examined. The count belongs
    // to a process, not to its number.
    for (const auto& [pid, process] : strangers) {
        const auto seen = before.find(pid);
        const bool is_same =
            seen != before.end() && seen->second.process.started == process.started;
        others_[pid] = {.process = process, .looks = is_same ? seen->second.looks + 1 : 1};
    }
    std::vector<Process> running;
    // Zombies stay in ours_, because they may still be parents of running processes.
    for (const auto& [pid, process] : ours_)
        if (process.state != 'Z' && process.state != 'X')
            running.push_back(process);
    if (running.size() > kMaxProcesses) {
        running.resize(kMaxProcesses);
        is_whole_ = false;
    }
    return running;
}

}  // namespace gpuprobe::watch
